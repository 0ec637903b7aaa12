// The values that a declared parameter may have, as CEL and in words. The same rule as check_value() in
// host/config/options.h.
#pragma once

#include <string>

#include "host/model/option.h"

namespace cardcage {

struct ValueRule {
  std::string valid;     // CEL, true if the value `v` may be given
  std::string expected;  // "an integer from 1 to 8"
};

// The rule never names a value, so it reveals no secret.
ValueRule value_rule(const OptionDeclaration& declaration);

}  // namespace cardcage
