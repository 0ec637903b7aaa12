// A file of products/: what one kind of card says of itself.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/fakes/nvml/state.h"

namespace cardcage::fake_nvml {

struct Product {
  Gpu gpu;  // all that cards of the kind have in common
  std::string serial_prefix;
  std::vector<unsigned> module_ids;
  unsigned pci_class = 0;
  std::vector<std::uint64_t> bars_mib;
  bool drm = false;
  unsigned switches = 0;
};

// Throws if there is no such file or a key is missing in it.
Product load_product(const std::string& name);

}  // namespace cardcage::fake_nvml
