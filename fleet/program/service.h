// Follows a cluster and serves what it knows to browsers and monitoring.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "fleet/binding_labels.h"
#include "fleet/fleet_query.h"
#include "fleet/fleet_watches.h"
#include "fleet/node_pages.h"
#include "fleet/program/page_links.h"
#include "host/core/paced_call.h"
#include "web/server/web_server.h"

namespace cardcage {

struct FleetServiceOptions {
  std::optional<PodsPlace> pages = {};             // nothing = no links to the pages of nodes
  std::optional<BindingLabelOptions> labels = {};  // nothing = writes no object
  WatchPace pace = {};
};

// [core] Must outlive run() and all requests.
class FleetService {
 public:
  FleetService(asio::io_context& core, Clock& clock, Credentials credentials, FleetServiceOptions options);

  // Runs until the surrounding coroutine is cancelled.
  Task<void> run();

  ~FleetService();
  FleetService(const FleetService&) = delete;
  FleetService& operator=(const FleetService&) = delete;

  // The JSON of docs/fleet.md.
  std::vector<WebRoute> routes();

  bool synced() const { return watches_.synced(); }
  ApiSession& session() { return session_; }
  const FleetStore& store() const { return store_; }
  // The series of /metrics.
  std::string metrics() const;

 private:
  // The pages of nodes, and the ways to them.
  struct Pages;
  class Changes;
  // Shared by all readers of changes, which may outlive this object.
  struct Readers;
  using Page = std::function<WebResponse(const WebRequest&)>;

  Task<void> follow_pages();
  Task<void> label_claims();
  void announce();
  WebRoute route(std::string path, Page page);
  // Serves the response to an equal request again until the next change is announced.
  WebRoute cached_route(std::string path, Page page);
  WebResponse summary() const;
  WebResponse nodes(const WebRequest& request) const;
  WebResponse heat(const WebRequest& request) const;
  Task<WebResponse> node(WebRequest request);
  WebResponse changes() const;

  ApiSession session_;
  const std::shared_ptr<Readers> readers_;
  std::map<std::string, WebResponse> cache_;  // by path and query
  PacedCall announcement_;
  FleetStore store_;
  NodeEvents events_;
  const std::unique_ptr<BindingLabels> labels_;  // null = none are written
  FleetWatches watches_;
  std::unique_ptr<Pages> pages_;  // null = no links
  std::uint64_t requests_ = 0;
};

}  // namespace cardcage
