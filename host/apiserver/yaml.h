// YAML as JSON values, so that one reader serves both; yaml-cpp's exceptions end here.
#pragma once

#include <boost/json.hpp>
#include <string_view>

#include "host/core/result.h"

namespace cardcage {

// The first document. Plain scalars get their type by YAML's core schema. Errors name `what`, line and column;
// documents that unfold to more than 100,000 values (aliases) are refused. kInvalidArgument.
Result<boost::json::value> parse_yaml(std::string_view text, std::string_view what);

}  // namespace cardcage
