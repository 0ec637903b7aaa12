// The commands that the page of a node gives.
#pragma once

#include <vector>

#include "ctl/web/daemon_client.h"
#include "web/server/web_server.h"

namespace cardcage {

// POST {"device", "module", "cause", "reason"} as for the commands of cagectl; the reason is required, and must not be
// empty. The response is {"done": text for people}. `client` outlives the handlers.
std::vector<WebRoute> node_action_routes(DaemonClient& client);

}  // namespace cardcage
