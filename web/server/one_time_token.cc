#include "web/server/one_time_token.h"

#include <fmt/format.h>

#include "web/server/guard.h"
#include "web/server/secret.h"

namespace cardcage {
namespace {

// Browsers send a cookie to every port of a host. Its name has the port, so that two servers do not overwrite it.
std::string cookie_name(const WebRequest& request) {
  const std::string_view port = host_and_port(request.header("host")).second;
  return port.empty() ? "cardcage_session" : fmt::format("cardcage_session_{}", port);
}

}  // namespace

OneTimeToken::OneTimeToken(std::string way_in, bool may_command, std::string why_not)
    : way_in_(std::move(way_in)),
      may_command_(may_command),
      why_not_(std::move(why_not)),
      token_(random_secret()),
      session_(random_secret()) {}

Task<std::expected<Visitor, WebResponse>> OneTimeToken::admit(WebRequest request) {
  const auto offered = request.path == "/" ? request.parameter("token") : std::nullopt;
  // Programs that preview links send HEAD.
  if (offered && request.method == "GET" && !request.head_only) {
    if (used_ || !same_secret(*offered, token_)) co_return std::unexpected(refusal(request));
    used_ = true;
    WebResponse welcome = text_response(303, "");
    welcome.headers = {
        {"Location", "/"},
        {"Set-Cookie", fmt::format("{}={}; HttpOnly; SameSite=Strict; Path=/", cookie_name(request), session_)}};
    co_return std::unexpected(std::move(welcome));
  }
  if (!same_secret(request.cookie(cookie_name(request)), session_)) co_return std::unexpected(refusal(request));
  Visitor visitor;
  visitor.may_command = may_command_;
  visitor.why_not = why_not_;
  co_return visitor;
}

WebResponse OneTimeToken::refusal(const WebRequest& request) const {
  if (request.path.starts_with("/api/")) return error_response(401, "not signed in: " + way_in_);
  return text_response(401, fmt::format("You are not signed in: {}.\n", way_in_));
}

}  // namespace cardcage
