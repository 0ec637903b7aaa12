// TokenReviews and SubjectAccessReviews of the fake API server.
#include "host/apiserver/json_view.h"
#include "tests/fakes/fake_api_server.h"

namespace cardcage {
namespace {

json::object reviewed(const char* kind, json::object status) {
  return {{"kind", kind}, {"metadata", json::object()}, {"status", std::move(status)}};
}

}  // namespace

void FakeApiServer::know_user(std::string token, std::string user) {
  server_.run([&] { users_[std::move(token)] = std::move(user); });
}
void FakeApiServer::expire_token(std::string token) {
  server_.run([&] { users_.erase(token); });
}
void FakeApiServer::allow(std::string user, std::string verb, std::string resource) {
  server_.run([&] { rights_.insert(fmt::format("{} {} {}", user, verb, resource)); });
}

std::optional<FakeApiServer::Response> FakeApiServer::review(const HttpsRequest& request) const {
  json::error_code failed;
  const json::value body = json::parse(request.body, failed);
  const json::object& spec = object_at(as_object(body), "spec");
  if (request.method != "POST") return std::nullopt;
  if (request.target == "/apis/authentication.k8s.io/v1/tokenreviews") {
    const auto user = users_.find(std::string(text_at(spec, "token")));
    if (user == users_.end())
      return Response{201, json::serialize(reviewed("TokenReview", {{"error", "token has expired"}}))};
    json::object known{{"username", user->second},
                       {"uid", "uid-of-" + user->second},
                       {"groups", json::array{"system:authenticated"}},
                       {"extra", json::object{{"example.com/from", json::array{"a", "b"}}}}};
    return Response{201,
                    json::serialize(reviewed("TokenReview", {{"authenticated", true}, {"user", std::move(known)}}))};
  }
  if (request.target != "/apis/authorization.k8s.io/v1/subjectaccessreviews") return std::nullopt;
  const json::object& wanted = object_at(spec, "resourceAttributes");
  const std::string user(text_at(spec, "user"));
  // An authorizer may look at any of these, so a client that leaves one out is wrong.
  const bool complete = text_at(spec, "uid") == "uid-of-" + user && array_at(spec, "groups").size() == 1 &&
                        array_at(object_at(spec, "extra"), "example.com/from").size() == 2;
  const std::string right = fmt::format("{} {} {}/{}/{}", user, text_at(wanted, "verb"), text_at(wanted, "group"),
                                        text_at(wanted, "resource"), text_at(wanted, "name"));
  return Response{201,
                  json::serialize(reviewed("SubjectAccessReview", {{"allowed", complete && rights_.contains(right)}}))};
}

}  // namespace cardcage
