// Reads YAML as JSON values, so that one reader serves both. yaml-cpp's exceptions do not leave yaml.cc.
#pragma once

#include <boost/json.hpp>
#include <string_view>

#include "host/core/result.h"

namespace cardcage {

// Reads the first document. Plain scalars get their type from YAML's core schema. Documents that expand to more than
// 100,000 values (through aliases) are refused. Fails with kInvalidArgument; errors name `what`, line and column.
Result<boost::json::value> parse_yaml(std::string_view text, std::string_view what);

}  // namespace cardcage
