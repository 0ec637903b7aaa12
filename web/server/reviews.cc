#include "web/server/reviews.h"

#include <algorithm>

#include "host/core/digest.h"
#include "web/server/review_call.h"

namespace cardcage {
namespace {

constexpr std::size_t kMaxToken = 16384;
constexpr std::size_t kMaxDecisions = 1000, kMaxOpen = 32;
// Visitors see an empty page until it ends.
constexpr Duration kReviewLimit = std::chrono::seconds(5);

// SubjectAccessReview has these parts of the user in other places.
json::object subject_of(const json::object& user) {
  json::object spec{{"user", text_at(user, "username")}};
  for (const char* member : {"groups", "uid", "extra"})
    if (const json::value* value = user.if_contains(member)) spec[member] = *value;
  return spec;
}

}  // namespace

std::string ReviewedResource::text() const {
  return fmt::format("{}.{}{}", resource, group, name.empty() ? "" : fmt::format(" '{}'", name));
}

// A page sends many requests at once; those with one token share one review.
struct Reviews::OpenReview {
  explicit OpenReview(asio::io_context& core) : ended(core, Instant::max()) {}
  asio::steady_timer ended;
  Result<Visitor> result;
};

Reviews::Reviews(asio::io_context& core, Clock& clock, Credentials credentials, ReviewedResource resource,
                 bool commands, ApiPace pace)
    : core_(core),
      clock_(clock),
      session_(core, clock, std::move(credentials), pace),
      resource_(std::move(resource)),
      commands_(commands) {}

Task<Result<Visitor>> Reviews::visitor(std::string token) {
  if (token.empty() || token.size() > kMaxToken)
    co_return fail(Code::kUnauthenticated, "the token is empty or longer than {} bytes", kMaxToken);
  const std::string key = sha256_hex(token);
  if (key.empty()) co_return fail(Code::kUnavailable, "OpenSSL offers no SHA-256; look at openssl.cnf");
  if (const auto known = decisions_.find(key); known != decisions_.end() && clock_.now() < known->second.until)
    co_return known->second.result;
  if (const auto found = open_.find(key); found != open_.end()) {
    const auto other = found->second;
    boost::system::error_code ignored;
    co_await other->ended.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
    co_return other->result;
  }
  if (open_.size() >= kMaxOpen)
    co_return fail(Code::kResourceExhausted, "too many tokens wait for the API server; try again in a moment");
  const auto open = std::make_shared<OpenReview>(core_);
  open_.emplace(key, open);
  open->result = co_await review(std::move(token));
  remember(key, open->result);
  open_.erase(key);
  open->ended.cancel();
  co_return open->result;
}

Task<Result<Visitor>> Reviews::review(std::string token) {
  const Instant deadline = clock_.now() + kReviewLimit;
  json::object given{{"token", std::move(token)}};
  const auto reviewed = co_await create_review(session_, "/apis/authentication.k8s.io/v1/tokenreviews", "TokenReview",
                                               std::move(given), deadline);
  if (!reviewed) co_return std::unexpected(reviewed.error());
  const json::object& user = object_at(*reviewed, "user");
  if (!bool_at(*reviewed, "authenticated") || text_at(user, "username").empty())
    co_return fail(Code::kUnauthenticated, "the token is not valid, or has expired; sign in with a new one");
  Visitor visitor;
  visitor.name = text_at(user, "username");
  const json::object subject = subject_of(user);
  visitor.subject = json::serialize(subject);
  const Result<bool> may_look = co_await may(subject, "get", deadline);
  if (!may_look) co_return std::unexpected(may_look.error());
  if (!*may_look)
    co_return fail(Code::kPermissionDenied, "{} may not get {}; ask for a role with this right", visitor.name,
                   resource_.text());
  visitor.why_not = "this server takes no commands; use cagectl on the node";
  if (commands_) {
    const Result<bool> may_command = co_await may(subject, "update", deadline);
    if (!may_command) co_return std::unexpected(may_command.error());
    visitor.may_command = *may_command;
    visitor.why_not =
        fmt::format("{} may not update {}; ask for a role with this right", visitor.name, resource_.text());
  }
  co_return visitor;
}

Task<Result<bool>> Reviews::may(const json::object& subject, std::string verb, Instant deadline) {
  ReviewedAction action{.verb = std::move(verb), .group = resource_.group, .resource = resource_.resource};
  action.name = resource_.name;
  return review_access(session_, subject, std::move(action), deadline);
}

void Reviews::remember(const std::string& key, const Result<Visitor>& result) {
  decisions_.erase(key);
  if (!result && result.error().code == Code::kUnavailable) return;
  const Instant now = clock_.now();
  if (decisions_.size() >= kMaxDecisions)
    std::erase_if(decisions_, [&](const auto& known) { return known.second.until <= now; });
  if (decisions_.size() >= kMaxDecisions)
    decisions_.erase(std::ranges::min_element(decisions_, {}, [](const auto& known) { return known.second.until; }));
  decisions_.emplace(key, Decision{result, now + (result ? kAllowedFor : kRefusedFor)});
}

}  // namespace cardcage
