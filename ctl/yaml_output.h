// A JSON value as YAML, for objects that people read before they apply them.
#pragma once

#include <boost/json/value.hpp>
#include <string>

namespace cardcage {

// Block style; texts of several lines as literal blocks. Ends with a newline.
std::string to_yaml(const boost::json::value& value);

}  // namespace cardcage
