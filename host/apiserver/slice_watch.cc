#include "host/apiserver/slice_watch.h"

#include "host/apiserver/api_status.h"
#include "host/apiserver/slice_json.h"
#include "host/core/log.h"

namespace cardcage {

Status deliver_watch_event(std::string_view line, std::string& version,
                           const std::function<void(SliceEvent)>& on_event) {
  if (line.empty()) return {};
  const auto parsed = parse_json(line, "watch event");
  if (!parsed) return fail(Code::kUnavailable, "{}", parsed.error().message);
  const auto& event = as_object(*parsed);
  const auto type = text_at(event, "type");
  const auto& object = object_at(event, "object");
  if (type == "ERROR") return std::unexpected(api_error(object, CallKind::kRead));

  // `version` advances after the delivery: if the callback ends the watch, the next watch must see the event again.
  const std::string next(text_at(object_at(object, "metadata"), "resourceVersion"));
  if (type == "ADDED" || type == "MODIFIED" || type == "DELETED") {
    using Kind = SliceEvent::Kind;
    const Kind kind = type == "ADDED" ? Kind::kAdded : type == "MODIFIED" ? Kind::kModified : Kind::kDeleted;
    if (auto slice = slice_from_json(object)) {
      on_event({kind, std::move(*slice)});
    } else {
      log_limited(LogLevel::kWarn, "slice-event", "ignoring a ResourceSlice that cannot be read",
                  {{"error", slice.error().message}});
    }
  }
  if (!next.empty()) version = next;
  return {};
}

}  // namespace cardcage
