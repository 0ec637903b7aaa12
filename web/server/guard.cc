#include "web/server/guard.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/beast/core/string.hpp>

namespace cardcage {
namespace {

// Returns "localhost:80" for "http://localhost:80"; empty for another scheme, such as the origin "null".
std::string_view host_of_origin(std::string_view origin) {
  for (const std::string_view scheme : {"http://", "https://"})
    if (origin.starts_with(scheme)) return origin.substr(scheme.size());
  return {};
}

bool is_json(std::string_view type) {
  type = type.substr(0, type.find(';'));
  while (type.ends_with(' ')) type.remove_suffix(1);
  return boost::beast::iequals(type, "application/json");
}

}  // namespace

std::pair<std::string_view, std::string_view> host_and_port(std::string_view host) {
  const std::size_t colon = host.rfind(':');
  const std::size_t bracket = host.rfind(']');
  if (colon == std::string_view::npos || (bracket != std::string_view::npos && colon < bracket)) return {host, {}};
  return {host.substr(0, colon), host.substr(colon + 1)};
}

Guard::Guard(std::vector<std::string> names, std::uint16_t port) : names_(std::move(names)) {
  for (const char* local : {"127.0.0.1", "localhost", "[::1]"}) names_.push_back(fmt::format("{}:{}", local, port));
}

bool Guard::knows(std::string_view host) const {
  return std::ranges::any_of(names_, [&](const std::string& name) {
    if (name == "*") return true;
    const bool any_port = host_and_port(name).second.empty();
    return boost::beast::iequals(any_port ? host_and_port(host).first : host, name);
  });
}

std::optional<WebResponse> Guard::refuse(const WebRequest& request) const {
  const auto hosts = std::ranges::count_if(
      request.headers, [](const auto& header) { return boost::beast::iequals(header.first, "host"); });
  if (hosts != 1) return text_response(400, "The request must have one Host.\n");
  if (!knows(request.header("host")))
    return text_response(421, "This server does not have the name that you opened; use the printed address.\n");
  if (!request.path.starts_with('/')) return text_response(400, "The path of a request begins with a slash.\n");
  return request.method == "GET" ? std::nullopt : refuse_command(request);
}

// Other sites can have a browser send forms and simple requests with the cookies of this server. They cannot set a
// header of their own, nor send JSON, without a preflight request, which is refused.
std::optional<WebResponse> Guard::refuse_command(const WebRequest& request) const {
  // A proxy such as kubectl's changes the Host. Only browsers set Sec-Fetch-Site, for the address that they show.
  if (request.header("sec-fetch-site") != "same-origin" &&
      !boost::beast::iequals(host_of_origin(request.header("origin")), request.header("host")))
    return error_response(403, "the request comes from another site: its Origin is not this server");
  if (request.header("x-cardcage-request") != "1")
    return error_response(403, "the header X-Cardcage-Request: 1 is missing");
  if (!is_json(request.header("content-type")))
    return error_response(415, "the body must have the type application/json");
  return std::nullopt;
}

}  // namespace cardcage
