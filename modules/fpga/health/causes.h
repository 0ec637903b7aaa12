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
  std::string reason, message;  // empty if it is well
};

struct Cause {
  const char* name;
  const char* taint;  // the key
  int begins, ends;   // for how many looks in a row something must be wrong until it counts, or right until it is over
  bool follows_message;  // the message has a register's value: it is stated again when that changes
  // Nothing if the readings do not tell.
  std::optional<Finding> (*judge)(const Readings& now);
};
std::span<const Cause> health_causes();

}  // namespace cardcage::fpga
