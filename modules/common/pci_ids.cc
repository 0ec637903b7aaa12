#include "modules/common/pci_ids.h"

#include <fstream>

namespace cardcage::hardware {

// Parses a list of vendors with tabbed lines of their devices: "\t2330  GH100 [H100 SXM5 80GB]".
std::map<std::string, std::string> products_of(const std::filesystem::path& driver_root, std::string_view vendor) {
  std::map<std::string, std::string> products;
  if (!vendor.starts_with("0x")) return products;
  const std::string start = std::string(vendor.substr(2)) + " ";
  for (const char* place : {"usr/share/hwdata/pci.ids", "usr/share/misc/pci.ids"}) {
    std::ifstream file(driver_root / place);
    bool ours = false;
    for (std::string line; std::getline(file, line);) {
      if (line.empty() || line.front() == '#') continue;
      if (line.front() != '\t') ours = line.starts_with(start);
      if (!ours || line.front() != '\t' || line.starts_with("\t\t")) continue;
      const auto name = line.find_first_not_of(' ', 5);
      if (name != std::string::npos) products.try_emplace("0x" + line.substr(1, 4), line.substr(name));
    }
  }
  return products;
}

}  // namespace cardcage::hardware
