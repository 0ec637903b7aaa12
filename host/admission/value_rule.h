// What a declared parameter may be, as CEL and in words. It judges as check_value() of host/config/options.h does.
#pragma once

#include <string>

#include "host/model/option.h"

namespace cardcage {

struct ValueRule {
  std::string valid;     // CEL, true if the value `v` may be given
  std::string expected;  // "an integer from 1 to 8"
};

// The rule never names a value, so it keeps secrets.
ValueRule value_rule(const OptionDeclaration& declaration);

}  // namespace cardcage
