// TokenReviews and SubjectAccessReviews of the fake API server.
#include <fmt/format.h>

#include "tests/fakes/fake_api_server.h"

namespace cardcage {
namespace {

namespace json = boost::json;

// Returns the text at a JSON pointer, "/spec/token"; empty without it.
std::string text_in(const json::value& body, std::string_view pointer) {
  json::error_code missing;
  const json::value* const found = body.find_pointer(pointer, missing);
  return found && found->is_string() ? std::string(found->get_string()) : "";
}

std::size_t items_in(const json::value& body, std::string_view pointer) {
  json::error_code missing;
  const json::value* const found = body.find_pointer(pointer, missing);
  return found && found->is_array() ? found->get_array().size() : 0;
}

// "user verb group/resource/name", with the subresource and the namespace before the name if there are any.
std::string right_in(const json::value& body, std::string_view user) {
  const auto attribute = [&](const char* name) {
    return text_in(body, std::string("/spec/resourceAttributes/") + name);
  };
  std::string right = fmt::format("{} {} {}/{}/", user, attribute("verb"), attribute("group"), attribute("resource"));
  for (const char* part : {"subresource", "namespace"})
    if (const std::string text = attribute(part); !text.empty()) right += text + "/";
  return right + attribute("name");
}

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
  if (request.method != "POST") return std::nullopt;
  if (request.target == "/apis/authentication.k8s.io/v1/tokenreviews") {
    const auto user = users_.find(text_in(body, "/spec/token"));
    if (user == users_.end())
      return Response{201, json::serialize(reviewed("TokenReview", {{"error", "token has expired"}}))};
    json::object known{{"username", user->second},
                       {"uid", "uid-of-" + user->second},
                       {"groups", json::array{"system:authenticated"}},
                       {"extra", json::object{{"example.com/from", json::array{"a", "b"}}}}};
    return Response{201,
                    json::serialize(reviewed("TokenReview", {{"authenticated", true}, {"user", std::move(known)}}))};
  }
  const std::string access = "/apis/authorization.k8s.io/v1/";
  if (request.target == access + "selfsubjectaccessreviews")
    return Response{201, json::serialize(reviewed("SelfSubjectAccessReview",
                                                  {{"allowed", rights_.contains(right_in(body, kSelf))}}))};
  if (request.target != access + "subjectaccessreviews") return std::nullopt;
  const std::string user = text_in(body, "/spec/user");
  // An authorizer may look at any of these, so a client that leaves one out is wrong.
  const bool complete = text_in(body, "/spec/uid") == "uid-of-" + user && items_in(body, "/spec/groups") == 1 &&
                        items_in(body, "/spec/extra/example.com~1from") == 2;
  const bool allowed = complete && rights_.contains(right_in(body, user));
  return Response{201, json::serialize(reviewed("SubjectAccessReview", {{"allowed", allowed}}))};
}

}  // namespace cardcage
