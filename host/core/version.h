// The version of this build, for example "0.1.0".
#pragma once

#include <string_view>

namespace cardcage {

std::string_view version();

}  // namespace cardcage
