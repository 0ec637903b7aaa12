// What can be wrong with a device, and the rules that tell.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "modules/fpga/health/readings.h"

namespace cardcage::fpga {

enum class Grade {
  kWell,
  kMarked,  // it works, but not as well as it should
  kBad,     // it must not be used
};

struct Finding {
  Grade grade = Grade::kWell;
  std::string reason, message;       // empty if it is well
  std::optional<double> value = {};  // what was measured, in the unit of the cause
};

struct Cause {
  const char* name;  // as declared
  // Nothing if the readings do not tell.
  std::optional<Finding> (*judge)(const Readings& now);
};
std::span<const Cause> health_causes();

}  // namespace cardcage::fpga
