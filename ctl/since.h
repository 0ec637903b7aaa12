// --since of the subcommands that show a history.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

#include "host/core/result.h"

namespace cardcage {

// Returns the time that long ago, in milliseconds since the epoch; 0 for "".
Result<std::int64_t> since(const std::string& ago);

// Returns why the text is not a duration; empty if it is one. For CLI::Option::check.
std::string check_duration(const std::string& text);

CLI::Option* add_limit(CLI::App& command, std::uint32_t& limit);

}  // namespace cardcage
