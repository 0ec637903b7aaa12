#include "fleet/program/page_links.h"

namespace cardcage {
namespace {

// The fleet page may be using the port of the same number.
constexpr int kLocalPort = 8444;
constexpr int kProxyPort = 8001;  // default of `kubectl proxy`

}  // namespace

Task<bool> PageLinks::may(std::string subject, std::string verb, std::string pod, std::string subresource) {
  ReviewedAction action{.verb = std::move(verb), .group = "", .resource = "pods"};
  action.subresource = std::move(subresource);
  action.name_space = name_space_;
  action.name = std::move(pod);
  return permissions_.may(std::move(subject), std::move(action));
}

Task<json::value> PageLinks::to_node(std::string node, std::string subject) {
  const auto page = pages_.of_node(node);
  if (!page) co_return nullptr;
  // The page itself asks for this right.
  ReviewedAction look{.verb = "get", .group = "cardcage.dev", .resource = "nodes"};
  look.name = node;
  const bool may_look = co_await permissions_.may(subject, std::move(look));
  if (!may_look) co_return nullptr;
  // Signing in is a POST, which takes "create".
  bool proxied = co_await may(subject, "get", page->pod, "proxy");
  if (proxied) proxied = co_await may(subject, "create", page->pod, "proxy");
  const bool forwarded = co_await may(subject, "create", page->pod, "portforward");
  if (!proxied && !forwarded) co_return nullptr;
  const std::string path =
      fmt::format("/api/v1/namespaces/{}/pods/https:{}:{}/proxy/", name_space_, page->pod, page->port);
  json::object link{{"path", nullptr}};
  if (proxied) link["path"] = path;
  // A forwarded port has an origin of its own, so that no other page can use its session.
  if (forwarded) {
    link["command"] =
        fmt::format("kubectl -n {} port-forward {} {}:{}", name_space_, page->pod, kLocalPort, page->port);
    link["address"] = fmt::format("https://127.0.0.1:{}/", kLocalPort);
  } else {
    link["command"] = "kubectl proxy";
    link["address"] = fmt::format("http://127.0.0.1:{}{}", kProxyPort, path);
  }
  co_return link;
}

}  // namespace cardcage
