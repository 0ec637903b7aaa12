// --option KEY=VALUE: sets options of a module file that is not in a configuration.
#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <string>
#include <vector>

#include "host/config/config.h"

namespace cardcage {

void add_module_options(CLI::App& command, std::vector<std::string>& written);

// Parses integers, booleans and lists as in TOML; anything else is a string, with or without quotes.
std::map<std::string, RawOption> module_options(const std::vector<std::string>& written);

}  // namespace cardcage
