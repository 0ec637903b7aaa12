// The note about a module that was built for an older major of the ABI (abi/STABILITY.md).
#pragma once

#include <string>

#include "host/model/module.h"

namespace cardcage {

// Returns "module ABI 0.3, which loads until December 2027: rebuild it with the headers of 1.0"; empty for a module of
// this host's major.
inline std::string abi_note(const AbiVersion& abi) {
  if (abi.major == CAGE_ABI_MAJOR) return "";
  return fmt::format("module ABI {}, which loads until December 2027: rebuild it with the headers of {}.{}",
                     abi.to_string(), CAGE_ABI_MAJOR, CAGE_ABI_MINOR);
}

}  // namespace cardcage
