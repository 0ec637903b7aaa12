// The optional families of functions of the module ABI that the host calls (abi/cardcage/ext).
#pragma once

#include <cstdint>

#include "cardcage/module.h"

namespace cardcage {

enum class Family : std::uint8_t {
  kPreferred,
  kPreStart,
  kConfigure,
  kQuiesce,
  kReset,
  kBind,
  kSandbox,
  kReconcile,
  kMetrics,
  kLabels,
  kCatalogue,
  kWatch
};

// Returns the name by which a module offers the family.
constexpr const char* id_of(Family family) {
  constexpr const char* kIds[] = {CAGE_EXT_PREFERRED, CAGE_EXT_PRE_START, CAGE_EXT_CONFIGURE, CAGE_EXT_QUIESCE,
                                  CAGE_EXT_RESET,     CAGE_EXT_BIND,      CAGE_EXT_SANDBOX,   CAGE_EXT_RECONCILE,
                                  CAGE_EXT_METRICS,   CAGE_EXT_LABELS,    CAGE_EXT_CATALOGUE, CAGE_EXT_WATCH};
  return kIds[static_cast<std::size_t>(family)];
}

}  // namespace cardcage
