// Finds the handler of a request.
#pragma once

#include "web/server/web_server.h"

namespace cardcage {

class Router {
 public:
  explicit Router(const WebSite& site);
  // Returns the handler of the request, or the response that refuses it.
  std::expected<WebRoute::Handler, WebResponse> find(const WebRequest& request) const;

 private:
  std::vector<WebRoute> routes_;  // longest path first
};

}  // namespace cardcage
