// Reads the events of a watch on ResourceSlices, one JSON object per line.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "host/model/cluster.h"

namespace cardcage {

// Hands the event in `line` to `on_event` and advances `version`; a bookmark only advances it. An ERROR event becomes
// an error with the codes of cluster.h (kOutOfRange: the version is too old, list again). A slice that cannot be read
// is logged and skipped.
Status deliver_watch_event(std::string_view line, std::string& version,
                           const std::function<void(SliceEvent)>& on_event);

}  // namespace cardcage
