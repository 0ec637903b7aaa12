// A sysfs of a test's own: files and links below a folder.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "sim/scratch_folder.h"

namespace cardcage::hardware {

class KernelTree {
 public:
  std::filesystem::path sysfs() const { return folder_ / "sys"; }
  std::filesystem::path devfs() const { return folder_ / "dev"; }
  std::filesystem::path root() const { return folder_.path(); }

  // Paths are relative to root().
  void file(const std::filesystem::path& path, std::string_view text) const {
    std::filesystem::create_directories((root() / path).parent_path());
    std::ofstream(root() / path) << text << std::flush;
  }
  void link(const std::filesystem::path& path, const std::filesystem::path& target) const {
    std::filesystem::create_directories((root() / path).parent_path());
    std::filesystem::create_symlink(target, root() / path);
  }

  static std::filesystem::path function(const std::string& bus_id) {
    return std::filesystem::path("sys/bus/pci/devices") / bus_id;
  }
  void attribute(const std::string& bus_id, const std::string& name, std::string_view text) const {
    file(function(bus_id) / name, text);
  }
  void driver(const std::string& bus_id, const std::string& name) const {
    link(function(bus_id) / "driver", "../../../bus/pci/drivers/" + name);
  }
  // Makes the function join the group.
  void iommu_group(const std::string& bus_id, const std::string& group) const {
    const std::filesystem::path folder = root() / "sys/kernel/iommu_groups" / group;
    std::filesystem::create_directories(root() / function(bus_id));
    link(function(bus_id) / "iommu_group", folder);
    link(std::filesystem::path("sys/kernel/iommu_groups") / group / "devices" / bus_id, root() / function(bus_id));
  }
  void virtual_function(const std::string& parent, unsigned number, const std::string& bus_id) const {
    link(function(parent) / ("virtfn" + std::to_string(number)), "../" + bus_id);
    link(function(bus_id) / "physfn", "../" + parent);
  }

 private:
  ScratchFolder folder_;
};

}  // namespace cardcage::hardware
