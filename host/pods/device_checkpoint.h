// The kubelet's own record of devices and pods: <device-plugins>/kubelet_internal_checkpoint.
//
// It has the devices of ordinary init containers, which the PodResources API leaves out, and the UIDs of pods. It is an
// internal format without a version, and the kubelet rewrites it lazily: anything unexpected in it means "unknown".
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "host/claim/handed_out.h"

namespace cardcage {

// The UIDs of the pods that have a device.
using CheckpointHolders = std::map<ResourceDevice, std::set<std::string>>;

// Reads {"Data": {"PodDeviceEntries": [{"PodUID", "ResourceName", "DeviceIDs": {numa: [ids]} or [ids]}]}} piece by
// piece. Its memory grows with `wanted`, not with the file.
class CheckpointParser {
 public:
  explicit CheckpointParser(const std::set<ResourceDevice>& wanted);
  ~CheckpointParser();
  CheckpointParser(const CheckpointParser&) = delete;
  CheckpointParser& operator=(const CheckpointParser&) = delete;

  Status feed(std::string_view piece);
  // Without devices that no pod has. kDataLoss if the file is incomplete or of another form.
  Result<CheckpointHolders> finish();

 private:
  struct Json;
  const std::unique_ptr<Json> json_;
};

constexpr std::size_t kMaxCheckpointBytes = 64u << 20;

// [core] Yields to other tasks after each piece of the file. kNotFound if there is no file.
Task<Result<CheckpointHolders>> read_device_checkpoint(std::filesystem::path file, std::set<ResourceDevice> wanted);

}  // namespace cardcage
