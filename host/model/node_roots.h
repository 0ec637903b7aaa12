// Where the files of the node are, for a daemon in a container or a test.
#pragma once

#include <filesystem>
#include <string>

namespace cardcage {

struct NodeRoots {
  std::filesystem::path sysfs = "/sys", procfs = "/proc", devfs = "/dev";
  std::filesystem::path driver = "/";      // below it are the programs and libraries of the vendor's driver
  std::filesystem::path driver_on_node{};  // the path that `driver` has on the node; empty = the same

  // The path on the node of a driver's file that the daemon sees at `here`; other paths stay as they are.
  std::string driver_path_on_node(const std::string& here) const;
  // The same for a file of the driver or a device node.
  std::string on_node(const std::string& here) const;
  // Where the daemon sees what is at this path on the node.
  std::filesystem::path seen_here(const std::string& on_node) const;
};

}  // namespace cardcage
