// Refers to every function, so that linking fails if one is not defined.
#include "sim/nvml/library/exports.h"

#include <type_traits>

namespace {

#define CARDCAGE_NVML_CHECK(name, parameters) \
  static_assert(std::is_same_v<decltype(&::name), nvml::Return(*) parameters>);
CARDCAGE_NVML_ALL(CARDCAGE_NVML_CHECK)

[[maybe_unused, gnu::used]] void (*const g_all[])() = {
#define CARDCAGE_NVML_ADDRESS(name, parameters) reinterpret_cast<void (*)()>(&::name),
    CARDCAGE_NVML_ALL(CARDCAGE_NVML_ADDRESS)};

}  // namespace
