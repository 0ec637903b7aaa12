#include "modules/nvidia/platform.h"

#include <algorithm>
#include <cctype>
#include <fstream>

namespace cardcage::nvidia {
namespace {

bool is_tegra(const Node& node) {
  if (resolve(node.driver_root, "/etc/nv_tegra_release")) return true;
  std::ifstream file(node.sysfs / "devices/soc0/family");
  std::string family;
  std::getline(file, family);
  std::ranges::transform(family, family.begin(), [](unsigned char c) { return std::tolower(c); });
  return family.starts_with("tegra");
}

}  // namespace

std::string unserved_platform(const Node& node) {
  if (!read_kernel_gpus(node.procfs).empty()) return {};
  std::error_code error;
  if (std::filesystem::exists(node.devfs / "dxg", error))
    return "this is WSL2, whose GPU is reached through Windows (/dev/dxg): it is not served; use NVIDIA's device "
           "plugin";
  if (is_tegra(node))
    return "this is a Tegra machine (Jetson, IGX or Thor), whose own GPU is not served; use NVIDIA's device plugin";
  return {};
}

}  // namespace cardcage::nvidia
