// The checks that a request must pass before anything else happens.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "web/server/exchange.h"

namespace cardcage {

// Splits "localhost:80" and "[::1]:80"; the port is empty if there is none.
std::pair<std::string_view, std::string_view> host_and_port(std::string_view host);

// The names of a server, as in the Host of a request.
class Guard {
 public:
  // `names` as in WebSite.
  Guard(std::vector<std::string> names, std::uint16_t port);
  // Returns the response that refuses the request; nothing if it may continue.
  std::optional<WebResponse> refuse(const WebRequest& request) const;

 private:
  bool knows(std::string_view host) const;
  std::optional<WebResponse> refuse_command(const WebRequest& request) const;

  std::vector<std::string> names_;
};

}  // namespace cardcage
