// Durations as people write them in TOML and module options: "250ms", "30s", "5m", "1h30m".
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "host/core/result.h"

namespace cardcage {

// Reads one or more whole numbers, each followed by a unit (h, m, s, ms, us, ns); larger units come first and none
// occurs twice. Signs and fractions are refused. The error quotes the text and says what is wrong with it.
Result<std::chrono::nanoseconds> parse_duration(std::string_view text);

// The shortest text that parse_duration reads back: "1h30m", "250ms", "0s". A negative duration gets a "-".
std::string format_duration(std::chrono::nanoseconds duration);

}  // namespace cardcage
