#include "modules/nvidia/device_nodes.h"

#include <algorithm>
#include <fstream>
#include <sstream>

namespace cardcage::nvidia {
namespace {

namespace fs = std::filesystem;

// Fixed in the kernel module.
constexpr unsigned kControlMinor = 255, kModesetMinor = 254, kUvmMinor = 0, kUvmToolsMinor = 1;

constexpr std::string_view kModifyDeviceFiles = "ModifyDeviceFiles:", kNoChanges = "ModifyDeviceFiles: 0";

cage::DeviceNode character_device(std::string path, unsigned major, unsigned minor) {
  return {.path = std::move(path), .permissions = "rw", .type = "c", .major = major, .minor = minor};
}

// Older kernel modules use another name.
unsigned gpu_major(const Majors& majors) {
  for (const char* name : {"nvidia", "nvidia-frontend"})
    if (const auto found = majors.find(name); found != majors.end()) return found->second;
  throw cage::Error(CAGE_FAILED_PRECONDITION, "the kernel module nvidia is not loaded; load it: modprobe nvidia");
}

unsigned major_of(const Majors& majors, std::string_view name, std::string_view remedy) {
  const auto found = majors.find(name);
  if (found != majors.end()) return found->second;
  throw cage::Error(CAGE_FAILED_PRECONDITION,
                    "/proc/devices does not list '" + std::string(name) + "'; " + std::string(remedy));
}

// The name in /dev/dri/by-path that udev links to a node like card1; empty if there is none.
std::string path_link(const Node& node, const Gpu& gpu, const std::string& name) {
  const std::string link = "pci-" + gpu.bus_id + (name.starts_with("card") ? "-card" : "-render");
  std::error_code error;
  return fs::read_symlink(node.devfs / "dri/by-path" / link, error).filename() == name ? link : std::string();
}

// The minor of a capability such as "gpu0/gi1/ci0/access", from the lines "gpu0/gi1/ci0/access 13" of
// /proc/driver/nvidia-caps/mig-minors.
std::optional<unsigned> capability_minor(const Node& node, const std::string& name) {
  std::ifstream file(node.procfs / "driver/nvidia-caps/mig-minors");
  std::string found;
  for (unsigned minor = 0; file >> found >> minor;)
    if (found == name) return minor;
  return std::nullopt;
}

}  // namespace

std::vector<cage::DeviceNode> control_nodes(const Node& node, const Majors& majors) {
  const unsigned major = gpu_major(majors);
  const unsigned uvm = major_of(majors, "nvidia-uvm", "CUDA needs the kernel module nvidia-uvm: modprobe nvidia-uvm");
  std::vector<cage::DeviceNode> nodes{character_device("/dev/nvidiactl", major, kControlMinor),
                                      character_device("/dev/nvidia-uvm", uvm, kUvmMinor),
                                      character_device("/dev/nvidia-uvm-tools", uvm, kUvmToolsMinor)};
  std::error_code error;
  if (fs::exists(node.sysfs / "module/nvidia_modeset", error))
    nodes.push_back(character_device("/dev/nvidia-modeset", major, kModesetMinor));
  return nodes;
}

std::string params_without_node_changes(const Node& node) {
  std::ifstream file(node.procfs / "driver/nvidia/params");
  std::string text;
  bool changed = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(kModifyDeviceFiles) && line != kNoChanges) {
      line = kNoChanges;
      changed = true;
    }
    text += line + "\n";
  }
  return changed ? text : std::string();
}

cage::DeviceNode gpu_node(const Gpu& gpu, const Majors& majors) {
  return character_device("/dev/nvidia" + std::to_string(gpu.minor), gpu_major(majors), gpu.minor);
}

std::vector<cage::DeviceNode> display_nodes(const Node& node, const Gpu& gpu) {
  std::vector<cage::DeviceNode> nodes;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(node.sysfs / "bus/pci/devices" / gpu.bus_id / "drm", error)) {
    std::ifstream file(entry.path() / "dev");
    const std::string name = entry.path().filename().native();
    unsigned major = 0, minor = 0;
    char colon = 0;
    if (!(file >> major >> colon >> minor) || colon != ':') continue;
    nodes.push_back(character_device("/dev/dri/" + name, major, minor));
    if (const std::string link = path_link(node, gpu, name); !link.empty())
      nodes.push_back(character_device("/dev/dri/by-path/" + link, major, minor));
  }
  std::ranges::sort(nodes, {}, &cage::DeviceNode::path);
  return nodes;
}

std::vector<cage::DeviceNode> mig_nodes(const Node& node, const Majors& majors, const Gpu& gpu, unsigned gpu_instance,
                                        unsigned compute_instance) {
  const unsigned major = major_of(majors, "nvidia-caps", "the loaded kernel module does not support MIG");
  const std::string instance = "gpu" + std::to_string(gpu.minor) + "/gi" + std::to_string(gpu_instance);
  std::vector<cage::DeviceNode> nodes;
  for (const std::string& name :
       {instance + "/access", instance + "/ci" + std::to_string(compute_instance) + "/access"}) {
    const auto minor = capability_minor(node, name);
    if (!minor)
      throw cage::Error(CAGE_FAILED_PRECONDITION, "/proc/driver/nvidia-caps/mig-minors does not list '" + name +
                                                      "', which the MIG instance needs");
    nodes.push_back(character_device("/dev/nvidia-caps/nvidia-cap" + std::to_string(*minor), major, *minor));
  }
  return nodes;
}

}  // namespace cardcage::nvidia
