// The syntax of opaque parameters.
#pragma once

#include <boost/json/object.hpp>
#include <string_view>

#include "host/core/result.h"

namespace cardcage {

// Limits in bytes how much of a written name an error quotes.
constexpr std::size_t kQuotedParameter = 80;

// Reads a JSON object without repeated names, of at most kMaxParameterBytes and 16 levels.
Result<boost::json::object> parse_parameters(std::string_view text);

}  // namespace cardcage
