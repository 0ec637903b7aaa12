#include "sim/nvml/built_files.h"

#include <algorithm>
#include <iterator>
#include <string>

namespace cardcage::fake_nvml {

std::filesystem::path built_library(unsigned branch) {
  static constexpr unsigned kVariants[] = {580, 570, 550, 535, 525, 470};
  const unsigned* found = std::ranges::find_if(kVariants, [branch](unsigned variant) { return variant <= branch; });
  const unsigned variant = found == std::end(kVariants) ? kVariants[std::size(kVariants) - 1] : *found;
  return std::filesystem::path(CARDCAGE_FAKE_NVML_LIBRARIES) / ("libnvidia-ml-" + std::to_string(variant) + ".so");
}

std::filesystem::path built_smi() { return CARDCAGE_FAKE_NVML_SMI; }

std::filesystem::path built_mps_control() { return CARDCAGE_FAKE_MPS_CONTROL; }

std::filesystem::path built_imex_ctl() { return CARDCAGE_FAKE_IMEX_CTL; }

std::filesystem::path products_folder() { return CARDCAGE_FAKE_NVML_PRODUCTS; }

}  // namespace cardcage::fake_nvml
