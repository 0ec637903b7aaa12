// The TOML text behind a configuration. toml++ throws; its exceptions end in document.cc.
#pragma once

#include <toml++/toml.h>

#include <expected>
#include <string>
#include <string_view>

#include "host/config/config.h"

namespace cardcage {

// Refuses what would make the parser recurse too deep; every other text is parsed or answered with its first error.
std::expected<toml::table, ConfigErrors::Entry> parse_document(std::string_view text, const std::string& file);

}  // namespace cardcage
