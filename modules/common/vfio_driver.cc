#include "modules/common/vfio_driver.h"

#include <fnmatch.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <sstream>

#include "modules/common/kernel_files.h"
#include "modules/common/pci_function.h"

namespace cardcage::hardware {

std::string best_vfio_driver(const std::filesystem::path& sysfs, const std::vector<std::filesystem::path>& folders,
                             const std::string& bus_id) {
  std::string best = "vfio_pci";
  const std::string wanted =
      "vfio_" + text_in(path_of(sysfs, bus_id) / "modalias");  // "vfio_pci:v000010DEd00002342..."
  auto fewest = std::numeric_limits<std::ptrdiff_t>::max();
  for (const auto& folder : folders) {
    std::ifstream aliases(folder / "modules.alias");
    for (std::string line; std::getline(aliases, line);) {
      std::istringstream words(line);
      std::string keyword, pattern, module;
      if (!(words >> keyword >> pattern >> module) || keyword != "alias" || !pattern.starts_with("vfio_pci:")) continue;
      const auto wildcards = std::ranges::count(pattern, '*');
      if (wildcards >= fewest || ::fnmatch(pattern.c_str(), wanted.c_str(), 0) != 0) continue;
      fewest = wildcards;
      best = module;
    }
  }
  return best == "vfio_pci" ? "vfio-pci" : best;
}

}  // namespace cardcage::hardware
