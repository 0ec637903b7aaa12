// Files that an ELF loader accepts as shared libraries, without code.
#pragma once

#include <string>
#include <vector>

namespace cardcage::fake_nvml {

// A 64-bit library for this machine's processor with a SONAME and dependencies.
std::string shared_library(const std::string& soname, const std::vector<std::string>& needed = {});
// The start of a 32-bit library, as distributions install beside 64-bit ones. No 64-bit program loads it.
std::string shared_library_32();

}  // namespace cardcage::fake_nvml
