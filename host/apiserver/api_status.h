// Errors for responses of the API server that are not 2xx (Kubernetes API conventions, "Response Status Kind").
#pragma once

#include "host/apiserver/http.h"
#include "host/apiserver/json_view.h"

namespace cardcage {

enum class CallKind { kRead, kCreate, kUpdate, kDelete };

// The codes are those of cluster.h; a 404 about the path instead of an object is kUnimplemented. Two refusals come as
// 422, like invalid content: kAborted for an object that was replaced by another one of its name, and kPermissionDenied
// for the status of devices that the caller may not write (resourceclaims/driver, Kubernetes 1.36). The text contains
// the message of the server's Status object, cut to 1 KiB and without control characters.
Error api_error(const HttpResponse& response, CallKind kind);
// The same for the Status object in the ERROR event of a watch.
Error api_error(const json::object& status, CallKind kind);

}  // namespace cardcage
