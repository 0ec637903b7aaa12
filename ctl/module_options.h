// FILE, --option, --program and --write: a module file that is not in a configuration, and what that would say of it.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "host/config/config.h"

namespace cardcage {

void add_module_options(CLI::App& command, std::vector<std::string>& written);

// Parses integers, booleans and lists as in TOML; anything else is a string, with or without quotes.
std::map<std::string, RawOption> module_options(const std::vector<std::string>& written);

// For CLI::Option::check(): returns an empty text if the name can be a driver's.
std::string check_driver(const std::string& name);

struct ModuleFile {
  std::filesystem::path file;
  std::vector<std::string> options;           // as for module_options()
  std::vector<std::string> programs, writes;  // as the keys of a module's configuration
};
void add_module_file(CLI::App& command, ModuleFile& module);

}  // namespace cardcage
