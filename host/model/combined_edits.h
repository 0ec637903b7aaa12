// The edits of a container that has several devices. A runtime applies the edits of one device after those of another,
// and where two differ, the last one wins without a word.
#pragma once

#include <string>
#include <vector>

#include "host/core/result.h"
#include "host/model/edits.h"

namespace cardcage {

// Where the container finds it.
inline const std::string& place_of(const DeviceNode& node) { return node.path; }
inline const std::string& place_of(const Mount& mount) { return mount.container_path; }
inline const std::string& place_of(const ProcText& text) { return text.path; }
inline const std::string& place_of(const NetDevice& device) { return device.name; }

struct DeviceEdits {
  std::string device;  // its name
  const Edits* own;
  const Edits* common;  // of the call that prepared it; devices of one call share it
};

// kFailedPrecondition if a container that gets all the devices would find two values of one environment variable, or
// two device nodes, mounts or network devices in one place. The value of a device replaces the common one.
Status check_combination(const std::vector<DeviceEdits>& devices);

// The variables that name all devices, each with its values joined by ',' in the order of the devices' names.
std::vector<EnvVar> joined_lists(std::vector<DeviceEdits> devices);

}  // namespace cardcage
