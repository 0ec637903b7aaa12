// The environment of programs that run as root.
#pragma once

#include <string_view>

namespace cardcage {

// The search path of every program that the daemon runs for a module. Root owns all its folders.
constexpr std::string_view kProgramPath = "PATH=/usr/sbin:/usr/bin:/sbin:/bin";

// Libraries that ld.so(8) loads into a program before all others.
constexpr std::string_view kPreload = "LD_PRELOAD";

// Returns "NAME" of "NAME=value".
constexpr std::string_view name_of_variable(std::string_view assignment) {
  return assignment.substr(0, assignment.find('='));
}

// Returns true for a variable that makes a program run other code: those that ld.so(8) ignores in a setuid program,
// those of interpreters, and PATH.
bool runs_other_code(std::string_view name);

}  // namespace cardcage
