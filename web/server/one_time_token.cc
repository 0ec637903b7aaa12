#include "web/server/one_time_token.h"

#include <fmt/ranges.h>
#include <openssl/crypto.h>
#include <sys/random.h>

#include <array>
#include <cstdlib>

#include "web/server/guard.h"

namespace cardcage {
namespace {

// Returns 256 random bits as hex digits.
std::string random_text() {
  std::array<unsigned char, 32> bytes{};
  // The kernel returns all of so few bytes. A secret that can be guessed is worse than no page.
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) std::abort();
  return fmt::format("{:02x}", fmt::join(bytes, ""));
}

// Takes the same time wherever the texts differ.
bool same_secret(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

// Browsers send a cookie to every port of a host, so the name has the port: two servers must not overwrite it.
std::string cookie_name(const WebRequest& request) {
  const std::string_view port = host_and_port(request.header("host")).second;
  return port.empty() ? "cardcage_session" : fmt::format("cardcage_session_{}", port);
}

}  // namespace

OneTimeToken::OneTimeToken(std::string way_in, bool may_command, std::string why_not)
    : way_in_(std::move(way_in)),
      may_command_(may_command),
      why_not_(std::move(why_not)),
      token_(random_text()),
      session_(random_text()) {}

Task<std::expected<Visitor, WebResponse>> OneTimeToken::admit(WebRequest request) {
  const auto offered = request.path == "/" ? request.parameter("token") : std::nullopt;
  // Programs that look at links before people open them send HEAD.
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
