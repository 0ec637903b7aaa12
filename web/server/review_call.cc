#include "web/server/review_call.h"

#include <utility>

namespace cardcage {
namespace {

constexpr std::size_t kMaxReview = std::size_t{1} << 20;

json::object attributes_of(ReviewedAction action) {
  json::object attributes;
  for (auto& [key, value] : {std::pair("verb", &action.verb), std::pair("group", &action.group),
                             std::pair("resource", &action.resource), std::pair("subresource", &action.subresource),
                             std::pair("namespace", &action.name_space), std::pair("name", &action.name)})
    if (!value->empty()) attributes[key] = *value;
  return attributes;
}

}  // namespace

Task<Result<json::object>> create_review(ApiSession& session, std::string path, std::string kind, json::object spec,
                                         Instant deadline) {
  const std::string group_version = path.substr(6, path.rfind('/') - 6);
  ApiCall call;
  call.what = "create " + kind;
  call.request.method = "POST";
  call.request.path = std::move(path);
  call.request.body =
      json::serialize(json::object{{"apiVersion", group_version}, {"kind", kind}, {"spec", std::move(spec)}});
  call.request.max_body = kMaxReview;
  const auto body = co_await session.call(std::move(call), deadline);
  if (!body) {
    const bool refused = body.error().code == Code::kPermissionDenied;
    co_return fail(Code::kUnavailable, "cannot check who you are: {}{}", body.error().message,
                   refused ? "; the server's service account needs the role system:auth-delegator" : "");
  }
  const auto parsed = parse_json(*body, kind);
  if (!parsed) co_return fail(Code::kUnavailable, "cannot check who you are: {}", parsed.error().message);
  co_return object_at(as_object(*parsed), "status");
}

Task<Result<bool>> review_access(ApiSession& session, json::object subject, ReviewedAction action, Instant deadline) {
  const bool own = subject.empty();
  std::string kind = own ? "SelfSubjectAccessReview" : "SubjectAccessReview";
  std::string path = fmt::format("/apis/authorization.k8s.io/v1/{}subjectaccessreviews", own ? "self" : "");
  json::object spec = std::move(subject);
  spec["resourceAttributes"] = attributes_of(std::move(action));
  const auto reviewed = co_await create_review(session, std::move(path), std::move(kind), std::move(spec), deadline);
  if (!reviewed) co_return std::unexpected(reviewed.error());
  co_return bool_at(*reviewed, "allowed") && !bool_at(*reviewed, "denied");
}

}  // namespace cardcage
