// Reads the events of a watch, one JSON object per line.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "host/apiserver/json_view.h"
#include "host/core/result.h"

namespace cardcage {

// Hands the object in `line` to `on_object` and advances `version`; a bookmark only advances it. An ERROR event becomes
// an error with the codes of cluster.h (kOutOfRange: the version is too old, list again).
Status deliver_watched_object(std::string_view line, std::string& version,
                              const std::function<void(bool deleted, const json::object&)>& on_object);

}  // namespace cardcage
