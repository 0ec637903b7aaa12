#include "web/server/router.h"

#include <fmt/ranges.h>

#include <algorithm>

namespace cardcage {
namespace {

WebResponse file_response(const EmbeddedFile& file, const WebRequest& request) {
  WebResponse response;
  // Browsers ask each time, since another version of the program may serve this address tomorrow.
  response.headers = {{"ETag", std::string(file.etag)}, {"Cache-Control", "no-cache"}};
  response.content_type = file.content_type;
  if (request.header("if-none-match").find(file.etag) != std::string_view::npos)
    response.status = 304;
  else
    response.fixed_body = file.body;
  return response;
}

WebRoute route_of(const EmbeddedFile& file) {
  const auto handler = [file](WebRequest request) -> Task<WebResponse> {
    return [](EmbeddedFile served, WebRequest asked) -> Task<WebResponse> { co_return file_response(served, asked); }(
                                                         file, std::move(request));
  };
  return {.method = "GET", .path = std::string(file.path), .handler = handler};
}

// "/" is the path of a file, index.html.
bool matches(const WebRoute& route, std::string_view path) {
  const bool prefix = route.path.size() > 1 && route.path.ends_with('/');
  return prefix ? path.starts_with(route.path) : path == route.path;
}

}  // namespace

Router::Router(const WebSite& site) : routes_(site.routes) {
  for (const EmbeddedFile& file : site.files) routes_.push_back(route_of(file));
  std::ranges::stable_sort(routes_, std::greater{}, [](const WebRoute& route) { return route.path.size(); });
}

std::expected<WebRoute::Handler, WebResponse> Router::find(const WebRequest& request) const {
  std::vector<std::string_view> methods;
  for (const WebRoute& route : routes_) {
    if (!matches(route, request.path)) continue;
    if (route.method == request.method) return route.handler;
    methods.push_back(route.method);
    if (route.method == "GET") methods.emplace_back("HEAD");
  }
  if (methods.empty()) return std::unexpected(error_response(404, "there is nothing at this path"));
  WebResponse refusal = error_response(405, fmt::format("allowed here: {}", fmt::join(methods, ", ")));
  refusal.headers = {{"Allow", fmt::format("{}", fmt::join(methods, ", "))}};
  return std::unexpected(std::move(refusal));
}

}  // namespace cardcage
