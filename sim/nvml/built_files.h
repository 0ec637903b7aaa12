// Paths of the library's variants and programs in the build, and of the product files.
#pragma once

#include <filesystem>

namespace cardcage::fake_nvml {

// libnvidia-ml-<branch>.so for the newest branch that is not newer than this one.
std::filesystem::path built_library(unsigned branch);
std::filesystem::path built_smi();
std::filesystem::path built_mps_control();
std::filesystem::path built_imex_ctl();
std::filesystem::path products_folder();

}  // namespace cardcage::fake_nvml
