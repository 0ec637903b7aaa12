// Numbers of processes from files and sockets.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <limits>
#include <optional>

namespace cardcage {

// The number as a pid, if a process other than init can have it. kill(2), waitpid(2) and prlimit(2) give 0 and negative
// numbers meanings of their own, and a cast of a larger number names another process.
constexpr std::optional<pid_t> valid_pid(std::int64_t number) {
  if (number <= 1 || number > std::numeric_limits<pid_t>::max()) return std::nullopt;
  return static_cast<pid_t>(number);
}

}  // namespace cardcage
