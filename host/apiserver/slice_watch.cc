#include "host/apiserver/slice_watch.h"

#include "host/apiserver/slice_json.h"
#include "host/apiserver/watch_event.h"
#include "host/core/log.h"

namespace cardcage {
namespace {

SliceEvent::Kind kind_of(WatchedChange change) {
  switch (change) {
    case WatchedChange::kAdded: return SliceEvent::Kind::kAdded;
    case WatchedChange::kModified: return SliceEvent::Kind::kModified;
    case WatchedChange::kDeleted: break;
  }
  return SliceEvent::Kind::kDeleted;
}

}  // namespace

Status deliver_watch_event(std::string_view line, std::string& version,
                           const std::function<void(SliceEvent)>& on_event) {
  return deliver_watched_object(line, version, [&](WatchedChange change, const json::object& object) {
    if (auto slice = slice_from_json(object))
      on_event({kind_of(change), std::move(*slice)});
    else
      log_limited(LogLevel::kWarn, "slice-event", "ignoring a ResourceSlice that cannot be read",
                  {{"error", slice.error().message}});
  });
}

}  // namespace cardcage
