#include "host/apiserver/api_status.h"

#include <algorithm>

#include "host/model/text_rules.h"

namespace cardcage {
namespace {

constexpr std::size_t kMaxMessage = 1024;

Code code_of(long status, CallKind kind, bool about_object) {
  switch (status) {
    case 400:
    case 413:
    case 422: return Code::kInvalidArgument;
    case 401: return Code::kUnauthenticated;
    case 403: return Code::kPermissionDenied;
    case 404: return about_object ? Code::kNotFound : Code::kUnimplemented;
    case 405:
    case 406:
    case 415: return Code::kUnimplemented;
    case 409: return kind == CallKind::kCreate ? Code::kAlreadyExists : Code::kAborted;
    case 410: return Code::kOutOfRange;
    case 429: return Code::kResourceExhausted;
    default: return status == 408 || status >= 500 ? Code::kUnavailable : Code::kUnknown;
  }
}

// Admission webhooks and policies deny an object, mostly with the same status as a missing right
// (k8s.io/apiserver/pkg/admission/plugin: webhook/errors/statuserror.go, policy/validating/dispatcher.go).
bool is_denied_by_admission(long status, std::string_view message) {
  return status == 403 && (message.contains(" denied the request") || message.contains(" denied request"));
}

std::string_view remedy_of(long status) {
  switch (status) {
    case 403: return "; grant it in the ClusterRole of the daemon's user";
    case 429: return "; the server is overloaded";
    default: return "";
  }
}

bool has_cause(const json::object& status, std::string_view field, std::string_view reason) {
  return std::ranges::any_of(array_at(object_at(status, "details"), "causes"), [&](const json::value& cause) {
    return text_at(as_object(cause), "field") == field && text_at(as_object(cause), "reason") == reason;
  });
}

// The server's storage is behind the version that a list asks for.
bool is_version_too_large(const json::object& status) { return has_cause(status, "", "ResourceVersionTooLarge"); }

Code code_of_invalid(const json::object& status) {
  if (has_cause(status, "metadata.uid", "FieldValueInvalid")) return Code::kAborted;
  if (has_cause(status, "status.devices", "FieldValueForbidden")) return Code::kPermissionDenied;
  return Code::kInvalidArgument;
}

Error make_error(long status, CallKind kind, bool about_object, std::string_view message) {
  while (message.ends_with('\n')) message.remove_suffix(1);
  const bool is_denied = is_denied_by_admission(status, message);
  return {is_denied ? Code::kInvalidArgument : code_of(status, kind, about_object),
          fmt::format("API server responded {}{}{}{}", status, message.empty() ? "" : ": ",
                      printable(message, kMaxMessage), is_denied ? "" : remedy_of(status))};
}

}  // namespace

Error api_error(const HttpResponse& response, CallKind kind) {
  const auto body = parse_json(response.body, "the response");
  if (!body || text_at(as_object(*body), "kind") != "Status")
    return make_error(response.status, kind, false, response.body);
  const auto& status = as_object(*body);
  const bool about_object = !text_at(object_at(status, "details"), "name").empty();
  Error error = make_error(response.status, kind, about_object, text_at(status, "message"));
  if (response.status == 422) error.code = code_of_invalid(status);
  if (response.status == 504 && is_version_too_large(status)) error.code = Code::kOutOfRange;
  return error;
}

Error api_error(const json::object& status, CallKind kind) {
  return make_error(static_cast<long>(int_at(status, "code", 500)), kind, true, text_at(status, "message"));
}

}  // namespace cardcage
