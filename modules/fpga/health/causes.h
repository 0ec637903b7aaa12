// The causes of bad health of a device, and the rules that judge them.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "modules/fpga/health/readings.h"

namespace cardcage::fpga {

enum class Grade {
  kWell,
  kMarked,  // it works, but is impaired
  kBad,     // it must not be used
};

struct Finding {
  Grade grade = Grade::kWell;
  std::string reason, message;       // empty if the device is well
  std::optional<double> value = {};  // the measured value, in the unit of the cause
};

struct Cause {
  const char* name;  // the declared name
  // Returns nothing if the readings do not suffice.
  std::optional<Finding> (*judge)(const Readings& now);
};
std::span<const Cause> health_causes();

}  // namespace cardcage::fpga
