// Events of a watch on ResourceSlices: one JSON object per line.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "host/model/cluster.h"

namespace cardcage {

// Hands the event of one line on and advances `version`; a bookmark only advances it. An ERROR event is an error with
// the codes of cluster.h (kOutOfRange: the version is too old, list again). Slices that cannot be read are logged and
// left out.
Status deliver_watch_event(std::string_view line, std::string& version,
                           const std::function<void(SliceEvent)>& on_event);

}  // namespace cardcage
