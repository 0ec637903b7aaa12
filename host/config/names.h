// What the names and paths of a configuration may be, with the text for people when they are not.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "host/core/result.h"

namespace cardcage {

// Each check says what is wrong with the quoted name; the rules are those of host/device/naming.h.
Status check_node_name(std::string_view name);
Status check_label(std::string_view name);
Status check_driver_name(std::string_view name);
Status check_pool_name(std::string_view name);
Status check_resource_name(std::string_view name);
Status check_attribute_name(std::string_view name);

// An absolute path without "..", as it will be used: normal form, no trailing slash.
Result<std::filesystem::path> absolute_path(std::string_view text);

// A path below a folder: relative, without "..", not empty.
Result<std::filesystem::path> path_below(std::string_view text);

}  // namespace cardcage
