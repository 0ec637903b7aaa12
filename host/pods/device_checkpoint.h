// The kubelet's own record of devices and pods: <device-plugins>/kubelet_internal_checkpoint.
//
// It names the devices of ordinary init containers, which the PodResources API leaves out, and the UIDs of pods. It is
// an internal format without a version and the kubelet rewrites it lazily: whatever is odd about it means "unknown".
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "host/claim/handed_out.h"

namespace cardcage {

// UIDs of the pods that a device is recorded for.
using CheckpointHolders = std::map<ResourceDevice, std::set<std::string>>;

// Reads {"Data": {"PodDeviceEntries": [{"PodUID", "ResourceName", "DeviceIDs": {numa: [ids]} or [ids]}]}} piece by
// piece; memory goes with `wanted` and not with the file.
class CheckpointParser {
 public:
  explicit CheckpointParser(const std::set<ResourceDevice>& wanted);
  ~CheckpointParser();
  CheckpointParser(const CheckpointParser&) = delete;
  CheckpointParser& operator=(const CheckpointParser&) = delete;

  Status feed(std::string_view piece);
  // Devices that are recorded for no pod are missing. kDataLoss for what is not such a file, whole.
  Result<CheckpointHolders> finish();

 private:
  struct Json;
  const std::unique_ptr<Json> json_;
};

constexpr std::size_t kMaxCheckpointBytes = 64 * 1024 * 1024;

// [core] Lets others run after each piece of the file. kNotFound if there is none.
Task<Result<CheckpointHolders>> read_device_checkpoint(std::filesystem::path file, std::set<ResourceDevice> wanted);

}  // namespace cardcage
