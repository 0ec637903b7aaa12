// Where the files of the node are, for a daemon in a container or a test.
#pragma once

#include <filesystem>

namespace cardcage {

struct NodeRoots {
  std::filesystem::path sysfs = "/sys", procfs = "/proc", devfs = "/dev";
  std::filesystem::path driver = "/";  // below it are the programs and libraries of the vendor's driver
};

}  // namespace cardcage
