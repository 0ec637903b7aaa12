// Checks the names and paths of a configuration; the errors are written for people.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "host/core/result.h"

namespace cardcage {

// Each check quotes the name and says what is wrong with it. The rules are those in host/model/naming.h.
Status check_node_name(std::string_view name);
Status check_label(std::string_view name);
Status check_driver_name(std::string_view name);
Status check_pool_name(std::string_view name);
Status check_resource_name(std::string_view name);
Status check_attribute_name(std::string_view name);
// A pattern of paths of the node that a module may use. Links of its writes stay below the first folder, which
// therefore has a name.
Status check_path_pattern(std::string_view pattern);

// Reads an absolute path without "..". The result is in normal form, without a trailing slash.
Result<std::filesystem::path> absolute_path(std::string_view text);

// Reads a path below a folder: relative, without "..", not empty.
Result<std::filesystem::path> path_below(std::string_view text);

}  // namespace cardcage
