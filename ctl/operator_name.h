// Who gives a command.
#pragma once

#include <string>

namespace cardcage {

// For the record; behind sudo, the user who called it.
std::string operator_name();

}  // namespace cardcage
