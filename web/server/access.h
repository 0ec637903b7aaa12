// Who may use a web server.
#pragma once

#include <expected>

#include "host/core/task.h"
#include "web/server/exchange.h"

namespace cardcage {

// [core] Asked for every request, also for files, before its body is read. Outlives the server's work.
class Access {
 public:
  virtual ~Access() = default;
  // Returns the visitor, or the response that refuses the request or makes it known to the server (a redirect with a
  // cookie). The request has no body yet.
  virtual Task<std::expected<Visitor, WebResponse>> admit(WebRequest request) = 0;
};

}  // namespace cardcage
