// Durations as people write them in TOML and module options: "250ms", "30s", "5m", "1h30m".
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "host/core/result.h"

namespace cardcage {

// One or more whole numbers, each with a unit (h, m, s, ms, us, ns), units falling, none twice. A unit is always
// required, there is no sign and no fraction. The error says what is wrong with the quoted text.
Result<std::chrono::nanoseconds> parse_duration(std::string_view text);

// The shortest text that parse_duration reads back: "1h30m", "250ms", "0s". A negative duration gets a "-".
std::string format_duration(std::chrono::nanoseconds duration);

}  // namespace cardcage
