#include "web/server/response_message.h"

#include <fmt/format.h>

#include <array>
#include <boost/beast/http/field.hpp>
#include <boost/beast/http/status.hpp>

namespace cardcage {
namespace {

namespace http = boost::beast::http;

using HeaderLine = std::pair<std::string_view, std::string_view>;

// A page loads only files of this server, runs no inline script, and cannot be embedded in another site.
constexpr std::array kEveryResponse{
    HeaderLine{"Content-Security-Policy",
               "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
               "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
    HeaderLine{"X-Content-Type-Options", "nosniff"},
    HeaderLine{"Referrer-Policy", "no-referrer"},
    HeaderLine{"Cross-Origin-Opener-Policy", "same-origin"},
    HeaderLine{"Cross-Origin-Resource-Policy", "same-origin"},
    HeaderLine{"Cache-Control", "no-store"}};

bool has_body(unsigned status) { return status != 204 && status != 304; }

}  // namespace

ResponseMessage response_message(const WebResponse& response, bool head_only, bool keep_alive) {
  ResponseMessage message;
  message.version(11);
  message.result(response.status);
  message.keep_alive(keep_alive);
  for (const auto& [name, value] : kEveryResponse) message.set(std::string(name), std::string(value));
  if (has_body(response.status)) message.set(http::field::content_type, response.content_type);
  for (const auto& [name, value] : response.headers) message.set(name, value);
  const std::string_view body = response.fixed_body.empty() ? std::string_view(response.body) : response.fixed_body;
  if (has_body(response.status)) message.content_length(body.size());
  if (has_body(response.status) && !head_only) message.body() = {body.data(), body.size()};
  return message;
}

std::string event_stream_head() {
  std::string head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n";
  for (const auto& [name, value] : kEveryResponse) head += fmt::format("{}: {}\r\n", name, value);
  return head + "\r\n";
}

}  // namespace cardcage
