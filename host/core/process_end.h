// Describes the end of a process for people.
#pragma once

#include <csignal>
#include <string>

namespace cardcage {

// "was killed by signal 11 (Segmentation fault)", "exited with status 7". `end` comes from waitid(2) with WEXITED.
std::string text_of_end(const siginfo_t& end);

}  // namespace cardcage
