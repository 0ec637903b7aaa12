#include "host/apiserver/watch_event.h"

#include "host/apiserver/api_status.h"

namespace cardcage {

Status deliver_watched_object(std::string_view line, std::string& version,
                              const std::function<void(bool deleted, const json::object&)>& on_object) {
  if (line.empty()) return {};
  const auto parsed = parse_json(line, "watch event");
  if (!parsed) return fail(Code::kUnavailable, "{}", parsed.error().message);
  const auto& event = as_object(*parsed);
  const auto type = text_at(event, "type");
  const auto& object = object_at(event, "object");
  if (type == "ERROR") return std::unexpected(api_error(object, CallKind::kRead));

  // `version` advances after the delivery: if the callback ends the watch, the next watch must see the event again.
  const std::string next(text_at(object_at(object, "metadata"), "resourceVersion"));
  if (type == "ADDED" || type == "MODIFIED") on_object(false, object);
  if (type == "DELETED") on_object(true, object);
  if (!next.empty()) version = next;
  return {};
}

}  // namespace cardcage
