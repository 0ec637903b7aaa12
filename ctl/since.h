// Options of several subcommands: durations, --since and --limit.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

#include "host/core/result.h"

namespace cardcage {

// Returns the time that long ago, in milliseconds since the epoch; 0 for "".
Result<std::int64_t> since(const std::string& ago);

// Adds an option whose value is a duration.
CLI::Option* add_duration(CLI::App& command, const char* name, std::string& text, const char* help);

CLI::Option* add_limit(CLI::App& command, std::uint32_t& limit);

}  // namespace cardcage
