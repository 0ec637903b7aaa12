// The paths at which the module finds the node's files. Each may differ from the path on the node itself.
#pragma once

#include <filesystem>

namespace cardcage::hardware {

struct Node {
  std::filesystem::path sysfs, procfs, devfs;
};

}  // namespace cardcage::hardware
