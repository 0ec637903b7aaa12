// Times as text, for people and in objects of the API.
#pragma once

#include <fmt/chrono.h>

#include <chrono>
#include <string>

namespace cardcage {

// RFC 3339 in seconds, since the API server drops fractions.
inline std::string timestamp(std::chrono::system_clock::time_point time) {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::chrono::system_clock::to_time_t(time)));
}

}  // namespace cardcage
