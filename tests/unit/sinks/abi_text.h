#pragma once

#include <cardcage/module.h>

#include <string_view>

namespace cardcage {

inline cage_str text(std::string_view given) { return {given.data(), given.size()}; }

}  // namespace cardcage
