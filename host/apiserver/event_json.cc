#include "host/apiserver/event_json.h"

#include "host/apiserver/object_name.h"
#include "host/core/timestamp.h"
#include "host/model/text_rules.h"

namespace cardcage {
Status check_event(const NodeEvent& event) {
  if (auto valid = check_object_name(event.node, "node name"); !valid) return valid;
  if (auto valid = check_object_name(event.name, "Event name"); !valid) return valid;
  if (!is_camel_case(event.reason, kMaxEventReason))
    return fail(Code::kInvalidArgument, "the reason '{}' of an Event is not a CamelCase token of at most {} bytes",
                printable(event.reason, kMaxEventReason), kMaxEventReason);
  if (event.note.size() > kMaxEventNote || !is_utf8(event.note))
    return fail(Code::kInvalidArgument, "the note of Event '{}' is not UTF-8 of at most {} bytes", event.name,
                kMaxEventNote);
  return {};
}

json::object event_to_json(const NodeEvent& event) {
  return {
      {"apiVersion", "v1"},
      {"kind", "Event"},
      {"metadata", json::object{{"name", event.name}, {"namespace", kEventNamespace}}},
      // `kubectl describe node` also finds Events that have the node's name in place of its uid, as kubelets before
      // 1.36 write them. So the uid need not be looked up.
      {"involvedObject",
       json::object{{"apiVersion", "v1"}, {"kind", "Node"}, {"name", event.node}, {"uid", event.node}}},
      {"type", event.type == NodeEvent::Type::kWarning ? "Warning" : "Normal"},
      {"reason", event.reason},
      {"message", event.note},
      {"source", json::object{{"component", "cardcage"}, {"host", event.node}}},
      {"reportingComponent", "cardcage.dev/cardcage"},
      {"reportingInstance", event.node},
      {"firstTimestamp", timestamp(event.first)},
      {"lastTimestamp", timestamp(event.last)},
      {"count", event.count},
  };
}

json::object event_patch(const NodeEvent& event) {
  return {{"message", event.note}, {"lastTimestamp", timestamp(event.last)}, {"count", event.count}};
}

}  // namespace cardcage
