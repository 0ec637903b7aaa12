// Declares every function of the library. A definition of another type conflicts with its declaration.
#pragma once

#include "sim/nvml/library/more_functions.h"

namespace nvml = cardcage::nvml;

#define CARDCAGE_NVML_EXPORT(name, parameters) __attribute__((visibility("default"))) nvml::Return name parameters;
extern "C" {
CARDCAGE_NVML_ALL(CARDCAGE_NVML_EXPORT)
__attribute__((visibility("default"))) const char* nvmlErrorString(nvml::Return code);
}
#undef CARDCAGE_NVML_EXPORT
