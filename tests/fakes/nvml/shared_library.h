// Files that a loader of ELF takes for shared libraries, without code.
#pragma once

#include <string>
#include <vector>

namespace cardcage::fake_nvml {

// A 64-bit library of this machine's processor with a SONAME, which needs others.
std::string shared_library(const std::string& soname, const std::vector<std::string>& needed = {});
// The start of a 32-bit one, as distributions install beside it. No 64-bit program loads it.
std::string shared_library_32();

}  // namespace cardcage::fake_nvml
