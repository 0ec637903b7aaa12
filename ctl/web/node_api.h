// The JSON that the page of a node reads.
#pragma once

#include <boost/json/value.hpp>
#include <vector>

#include "ctl/web/change_hub.h"
#include "web/server/web_server.h"

namespace cardcage {

// The response to a call of the daemon that failed.
WebResponse failure_response(const Error& error);
// Laid out as `cagectl --json` prints it.
WebResponse json_response(const boost::json::value& value);

// Bodies are what `cagectl --json` prints. `client` and `hub` outlive the handlers.
std::vector<WebRoute> node_routes(DaemonClient& client, ChangeHub& hub);

}  // namespace cardcage
