#include "web/server/token_access.h"

#include <algorithm>
#include <boost/beast/core/string.hpp>

#include "embedded/sign_in_files.h"
#include "host/core/ascii.h"
#include "host/core/digest.h"
#include "web/server/secret.h"

namespace cardcage {
namespace {

constexpr std::size_t kMaxSessions = 256;
constexpr std::chrono::seconds kSessionLifetime = std::chrono::hours(1);
constexpr std::string_view kSignInPage = "/sign-in.html";

// Returns the token in the headers of a request; empty without one.
std::string_view offered_token(const WebRequest& request) {
  constexpr std::string_view kScheme = "bearer ";
  const std::string_view given = request.header("authorization");
  if (given.size() > kScheme.size() && boost::beast::iequals(given.substr(0, kScheme.size()), kScheme))
    return given.substr(kScheme.size());
  return request.header("x-cardcage-token");
}

const EmbeddedFile* sign_in_file(std::string_view path) {
  for (const EmbeddedFile& file : sign_in_files())
    if (file.path == path) return &file;
  return nullptr;
}

WebResponse as_response(unsigned status, const EmbeddedFile& file) {
  WebResponse response;
  response.status = status;
  response.content_type = file.content_type;
  response.fixed_body = file.body;
  return response;
}

unsigned status_of(Code code) {
  switch (code) {
    case Code::kUnauthenticated: return 401;
    case Code::kPermissionDenied: return 403;
    default: return 503;
  }
}

// RFC 6265 and the names of nodes have letters, digits, '-' and '.' in common.
std::string cookie_for(std::string_view name) {
  std::string cookie = "cardcage-";
  for (const char c : name) cookie += is_alphanumeric(c) || c == '-' || c == '.' ? c : '_';
  return cookie;
}

}  // namespace

TokenAccess::TokenAccess(Clock& clock, Reviews& reviews, std::string_view name)
    : clock_(clock), reviews_(reviews), cookie_name_(cookie_for(name)) {}

Task<std::expected<Visitor, WebResponse>> TokenAccess::admit(WebRequest request) {
  if (const EmbeddedFile* file = request.method == "GET" ? sign_in_file(request.path) : nullptr)
    co_return std::unexpected(as_response(200, *file));
  if (request.method == "GET" && request.path == "/healthz") co_return std::unexpected(text_response(200, "ok\n"));
  if (request.method == "POST" && request.path == "/sign-out") co_return std::unexpected(end_session(request));
  std::string token(offered_token(request));
  const bool from_session = token.empty();
  if (const SignedIn* session = from_session ? session_of(request) : nullptr) token = session->token;
  if (token.empty()) co_return std::unexpected(refusal(request, {Code::kUnauthenticated, "you are not signed in"}));
  Result<Visitor> visitor = co_await reviews_.visitor(token);
  if (!visitor) {
    const bool over = visitor.error().code != Code::kUnavailable && visitor.error().code != Code::kResourceExhausted;
    if (from_session && over) sessions_.erase(sha256_hex(request.cookie(cookie_name_)));
    co_return std::unexpected(refusal(request, visitor.error()));
  }
  if (request.method == "POST" && request.path == "/session" && !from_session)
    co_return std::unexpected(begin_session(std::move(token)));
  co_return std::move(*visitor);
}

WebResponse TokenAccess::begin_session(std::string token) {
  const Instant now = clock_.now();
  std::erase_if(sessions_, [&](const auto& session) { return session.second.until <= now; });
  if (sessions_.size() >= kMaxSessions)
    sessions_.erase(std::ranges::min_element(sessions_, {}, [](const auto& session) { return session.second.until; }));
  const std::string secret = random_secret();
  sessions_.emplace(sha256_hex(secret), SignedIn{std::move(token), now + kSessionLifetime});
  WebResponse welcome;
  welcome.body = "{}";
  welcome.headers.emplace_back("Set-Cookie", cookie(secret, kSessionLifetime));
  return welcome;
}

WebResponse TokenAccess::end_session(const WebRequest& request) {
  sessions_.erase(sha256_hex(request.cookie(cookie_name_)));
  WebResponse goodbye;
  goodbye.body = "{}";
  goodbye.headers.emplace_back("Set-Cookie", cookie("", std::chrono::seconds(0)));
  return goodbye;
}

const TokenAccess::SignedIn* TokenAccess::session_of(const WebRequest& request) {
  const std::string_view secret = request.cookie(cookie_name_);
  if (secret.empty()) return nullptr;
  const auto found = sessions_.find(sha256_hex(secret));
  if (found == sessions_.end()) return nullptr;
  if (clock_.now() < found->second.until) return &found->second;
  sessions_.erase(found);
  return nullptr;
}

WebResponse TokenAccess::refusal(const WebRequest& request, const Error& error) const {
  const unsigned status = status_of(error.code);
  const bool is_page = request.method == "GET" && request.path == "/";
  WebResponse response;
  if (status == 401 && is_page)
    response = as_response(status, *sign_in_file(kSignInPage));
  else if (is_page)
    response = text_response(status, error.message + ".\n");
  else
    response = error_response(status, error.message);
  if (status == 401) response.headers.emplace_back("WWW-Authenticate", "Bearer");
  if (status == 503) response.headers.emplace_back("Retry-After", "5");
  return response;
}

// Without a path, the browser takes that of the request: behind the API server's proxy the server does not know it.
std::string TokenAccess::cookie(std::string_view value, std::chrono::seconds lifetime) const {
  return fmt::format("{}={}; HttpOnly; Secure; SameSite=Strict; Max-Age={}", cookie_name_, value, lifetime.count());
}

}  // namespace cardcage
