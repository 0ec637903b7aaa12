// The edits of a container that has several devices. A runtime applies the edits of one device after those of another;
// where two differ, the last one wins silently.
#pragma once

#include <string>
#include <vector>

#include "host/core/result.h"
#include "host/model/edits.h"

namespace cardcage {

// The path at which the container finds the item.
inline const std::string& place_of(const DeviceNode& node) { return node.path; }
inline const std::string& place_of(const Mount& mount) { return mount.container_path; }
inline const std::string& place_of(const ProcText& text) { return text.path; }
inline const std::string& place_of(const NetDevice& device) { return device.name; }

struct DeviceEdits {
  std::string device;  // device name
  const Edits* own;
  const Edits* common;  // edits of the call that prepared it; devices of one call share them
};

// kFailedPrecondition if a container that gets all the devices would find two values of one environment variable, or
// two device nodes, mounts or network devices in one place. The value of a device replaces the common one.
Status check_combination(const std::vector<DeviceEdits>& devices);

// The variables that name all devices, each with its values joined by ',' in the order of the devices' names. JSON
// objects become one with the members of all.
std::vector<EnvVar> joined_lists(std::vector<DeviceEdits> devices);

}  // namespace cardcage
