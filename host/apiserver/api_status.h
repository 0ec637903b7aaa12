// What an answer of the API server that is not 2xx means (Kubernetes API conventions, "Response Status Kind").
#pragma once

#include "host/apiserver/http.h"
#include "host/apiserver/json_view.h"

namespace cardcage {

enum class CallKind { kRead, kCreate, kUpdate, kDelete };

// The codes of cluster.h. kUnimplemented for a 404 that is about the path, not about an object. The text holds the
// message of the server's Status object, cut to 1 KiB, without control characters.
Error api_error(const HttpResponse& response, CallKind kind);
// The same for the Status object of a watch's ERROR event.
Error api_error(const json::object& status, CallKind kind);

}  // namespace cardcage
