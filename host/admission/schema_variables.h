// One kind of parameters as variables of a ValidatingAdmissionPolicy.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "host/model/option.h"

namespace cardcage {

struct CelVariable {
  std::string name, expression;
  friend bool operator==(const CelVariable&, const CelVariable&) = default;
};

// A list of objects is a variable whose entries have a `path`, for messages, and a `value`. `name` becomes the list of
// the entries of variables.entries that are of the kind, "<name>_<n>" those of its n-th nested object, and the last
// variable, "<name>_problems", a list of texts that say what is wrong with them.
std::vector<CelVariable> schema_variables(const std::string& name, const ParamsSchema& schema);

// CEL, true if the object `o` names the kind.
std::string names_kind(const ParamsSchema& schema);

}  // namespace cardcage
