// Follows a cluster and serves what it knows to browsers and monitoring.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "fleet/fleet_query.h"
#include "fleet/fleet_watches.h"
#include "host/core/paced_call.h"
#include "web/server/web_server.h"

namespace cardcage {

// [core] Must outlive run() and all requests.
class FleetService {
 public:
  FleetService(asio::io_context& core, Clock& clock, Credentials credentials, WatchPace pace = {});

  // Runs until the surrounding coroutine is cancelled.
  Task<void> run() { return watches_.run(); }

  // The JSON of docs/fleet.md.
  std::vector<WebRoute> routes();

  bool synced() const { return watches_.synced(); }
  const FleetStore& store() const { return store_; }
  // The series of /metrics.
  std::string metrics() const;

 private:
  class Changes;
  // Shared by all readers of changes, which may outlive this object.
  struct Readers;
  using Page = std::function<WebResponse(const WebRequest&)>;

  void announce();
  WebRoute route(std::string path, Page page);
  // Serves the response to an equal request again until the next change is announced.
  WebRoute cached_route(std::string path, Page page);
  WebResponse summary() const;
  WebResponse nodes(const WebRequest& request) const;
  WebResponse heat(const WebRequest& request) const;
  WebResponse node(const WebRequest& request) const;
  WebResponse changes() const;

  ApiSession session_;
  const std::shared_ptr<Readers> readers_;
  std::map<std::string, WebResponse> cache_;  // by path and query
  PacedCall announcement_;
  FleetStore store_;
  NodeEvents events_;
  FleetWatches watches_;
  std::uint64_t requests_ = 0;
};

}  // namespace cardcage
