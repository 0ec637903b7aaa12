// The edits that a container would get for its CDI device ids, merged as a container runtime merges them.
#pragma once

#include <boost/json/object.hpp>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "host/core/result.h"

namespace cardcage {

// Returns a containerEdits object of the CDI specification. Reads the *.json files of `folders`; later folders win.
// Fails for an id that is not in any file.
Result<boost::json::object> merged_edits(std::span<const std::filesystem::path> folders,
                                         const std::vector<std::string>& cdi_ids);

// Prints one line per edit, for people: "env  GPU=0".
void print_edits(const boost::json::object& edits, std::size_t indent);

}  // namespace cardcage
