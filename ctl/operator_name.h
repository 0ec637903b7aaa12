// The name of the person who gives a command.
#pragma once

#include <string>

namespace cardcage {

// Returns the name for the record; under sudo, the user who called it.
std::string operator_name();

}  // namespace cardcage
