// Events on a Node as JSON (core/v1).
#pragma once

#include "host/apiserver/json_view.h"
#include "host/model/node_event.h"

namespace cardcage {

// The namespace of Events on objects without a namespace.
inline constexpr const char* kEventNamespace = "default";

// Fails with kInvalidArgument unless the names of the node and of the Event are DNS subdomains, and the reason and the
// note are within their limits.
Status check_event(const NodeEvent& event);
json::object event_to_json(const NodeEvent& event);
// The fields that a repetition changes, as a JSON merge patch (RFC 7386).
json::object event_patch(const NodeEvent& event);

}  // namespace cardcage
