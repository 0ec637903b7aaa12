// The locations of the node's files, for a daemon in a container or a test.
#pragma once

#include <filesystem>
#include <string>

namespace cardcage {

struct NodeRoots {
  std::filesystem::path sysfs = "/sys", procfs = "/proc", devfs = "/dev";
  std::filesystem::path driver = "/";      // root of the programs and libraries of the vendor's driver
  std::filesystem::path driver_on_node{};  // the path that `driver` has on the node; empty = the same

  // Returns the node's path of a driver file that the daemon sees at `here`; other paths are unchanged.
  std::string driver_path_on_node(const std::string& here) const;
  // Does the same for a driver file or a device node.
  std::string on_node(const std::string& here) const;
  // Returns the daemon's path of a file on the node.
  std::filesystem::path seen_here(const std::string& on_node) const;
};

}  // namespace cardcage
