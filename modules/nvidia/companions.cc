#include "modules/nvidia/companions.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>

namespace cardcage::nvidia {
namespace {

// The character devices in `folder` below the node's /dev whose names start with `beginning`.
std::vector<cage::DeviceNode> devices_that_begin_with(const Node& node, const std::string& folder,
                                                      std::string_view beginning) {
  std::vector<cage::DeviceNode> found;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(node.devfs / folder, error)) {
    const std::string name = entry.path().filename().native();
    struct stat about{};
    if (!name.starts_with(beginning) || ::stat(entry.path().c_str(), &about) != 0 || !S_ISCHR(about.st_mode)) continue;
    found.push_back({.path = (std::filesystem::path("/dev") / folder / name).native(),
                     .permissions = "rw",
                     .type = "c",
                     .major = ::major(about.st_rdev),
                     .minor = ::minor(about.st_rdev)});
  }
  std::ranges::sort(found, {}, &cage::DeviceNode::path);
  return found;
}

void add_devices(const Node& node, const std::string& folder, std::string_view beginning, const char* option,
                 CompanionFiles& files) {
  const auto found = devices_that_begin_with(node, folder, beginning);
  files.nodes.insert(files.nodes.end(), found.begin(), found.end());
  if (found.empty())
    files.missing.push_back("the option " + std::string(option) + " is on, and the node has no /dev/" +
                            (folder.empty() ? "" : folder + "/") + std::string(beginning) +
                            "*; load its kernel module");
}

void add_mount(const Node& node, const char* inside, CompanionFiles& files) {
  if (const auto file = resolve(node.driver_root, inside))
    files.mounts.push_back(
        {.host_path = *file, .container_path = inside, .options = {"ro", "nosuid", "nodev", "bind"}});
}

}  // namespace

CompanionFiles companion_files(const Node& node, const Companions& chosen) {
  CompanionFiles files;
  if (chosen.gds) {
    add_devices(node, "", "nvidia-fs", "gds", files);
    add_mount(node, "/run/udev", files);
    add_mount(node, "/etc/cufile.json", files);
  }
  if (chosen.gdrcopy) add_devices(node, "", "gdrdrv", "gdrcopy", files);
  if (chosen.mofed) {
    add_devices(node, "infiniband", "uverbs", "mofed", files);
    add_devices(node, "infiniband", "rdma_cm", "mofed", files);
  }
  return files;
}

}  // namespace cardcage::nvidia
