// A file of products/: the properties of one kind of card.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/nvml/state.h"

namespace cardcage::fake_nvml {

struct Product {
  Gpu gpu;  // the properties that all cards of the kind share
  std::string serial_prefix;
  std::vector<unsigned> module_ids;
  unsigned pci_class = 0;
  std::vector<std::uint64_t> bars_mib;
  bool drm = false;
  unsigned switches = 0;
};

// Throws if the file does not exist or lacks a key.
Product load_product(const std::string& name);

}  // namespace cardcage::fake_nvml
