// Formats a JSON value as YAML, for objects that people read before they apply them.
#pragma once

#include <boost/json/value.hpp>
#include <string>

namespace cardcage {

// Uses block style; texts of several lines become literal blocks. Ends with a newline.
std::string to_yaml(const boost::json::value& value);

}  // namespace cardcage
