// Parses the TOML text of a configuration. The exceptions of toml++ do not leave document.cc.
#pragma once

#include <toml++/toml.h>

#include <expected>
#include <string>
#include <string_view>

#include "host/config/config.h"

namespace cardcage {

// Returns the first error if `text` is not TOML. Refuses a text that would make the parser recurse too deeply.
std::expected<toml::table, ConfigErrors::Entry> parse_document(std::string_view text, const std::string& file);

}  // namespace cardcage
