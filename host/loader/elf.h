// Reads facts about a shared object without running it.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "host/core/result.h"

namespace cardcage {

struct ElfFacts {
  std::vector<std::string> needed;   // DT_NEEDED: the libraries that the loader has to find
  std::string run_path;              // DT_RUNPATH, or the older DT_RPATH
  std::vector<std::string> entries;  // exported functions whose names begin with "cage_module_v"
  std::vector<std::string> others;   // the first few of the other symbols that it exports

  friend bool operator==(const ElfFacts&, const ElfFacts&) = default;
};

// Bounded for any input. Fails for a file that the dynamic loader would refuse or that has wrong sizes in it.
Result<ElfFacts> inspect_elf(std::span<const std::byte> file);

// DT_SONAME, by which programs request the library; empty if it has none. Fails as inspect_elf does, but reads less.
Result<std::string> read_soname(std::span<const std::byte> file);

// Fails if the file exports neither the entry of this host's ABI major nor that of 0.3, and names the major that it is
// built for.
Status check_entry(const ElfFacts& facts);

}  // namespace cardcage
