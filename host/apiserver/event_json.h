// Events on a Node as JSON (core/v1).
#pragma once

#include "host/apiserver/json_view.h"
#include "host/model/node_event.h"

namespace cardcage {

// Where the Events of objects without a namespace are.
inline constexpr const char* kEventNamespace = "default";

// The names of the node and of the Event must be DNS subdomains, reason and note within their limits;
// kInvalidArgument.
Status check_event(const NodeEvent& event);
json::object event_to_json(const NodeEvent& event);
// What a repetition changes: a JSON merge patch (RFC 7386).
json::object event_patch(const NodeEvent& event);

}  // namespace cardcage
