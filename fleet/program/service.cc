#include "fleet/program/service.h"

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <set>

#include "host/core/memory.h"

namespace cardcage {
namespace {

constexpr Duration kAnnouncementPause = std::chrono::milliseconds(500);
// Many browsers show the same pages; each may have a few hundred kilobytes.
constexpr std::size_t kMostCached = 16;
constexpr std::string_view kNodePath = "/api/v1/nodes/";

Parameter parameters_of(const WebRequest& request) {
  return [&request](std::string_view name) { return request.parameter(name); };
}

WebResponse json_response(std::string body) {
  WebResponse response;
  response.body = std::move(body);
  return response;
}

Task<WebResponse> respond(WebResponse response) { co_return response; }

}  // namespace

struct FleetService::Readers {
  std::uint64_t announced = 0;
  std::set<Changes*> open;
};

// Sends the latest revision to one browser. A slow reader misses those in between.
class FleetService::Changes final : public EventSource {
 public:
  Changes(std::shared_ptr<Readers> readers, std::function<void()> ready)
      : readers_(std::move(readers)), ready_(std::move(ready)) {
    readers_->open.insert(this);
  }
  Changes(const Changes&) = delete;
  Changes& operator=(const Changes&) = delete;
  ~Changes() override { readers_->open.erase(this); }

  std::optional<WebEvent> take() override {
    if (told_ == readers_->announced) return std::nullopt;
    told_ = readers_->announced;
    return WebEvent{"change", fmt::format(R"({{"revision":{}}})", *told_)};
  }
  const std::function<void()>& ready() const { return ready_; }

 private:
  const std::shared_ptr<Readers> readers_;
  const std::function<void()> ready_;
  std::optional<std::uint64_t> told_;  // nothing at first, so that every reader is told the current revision
};

struct FleetService::Pages {
  Pages(asio::io_context& core, Clock& clock, ApiSession& session, const FleetServiceOptions& options,
        const std::function<void()>& changed)
      : permissions(clock, session),
        known(changed),
        watch(core, clock, session, NodePages::kind(*options.pages), known, options.pace, changed),
        links(known, options.pages->name_space, permissions) {}

  Permissions permissions;
  NodePages known;
  ObjectWatch watch;
  PageLinks links;
};

FleetService::FleetService(asio::io_context& core, Clock& clock, Credentials credentials, FleetServiceOptions options)
    : session_(core, clock, std::move(credentials), {.request_timeout = std::chrono::seconds(30)}),
      readers_(std::make_shared<Readers>()),
      announcement_(core, clock, kAnnouncementPause, [this] { announce(); }),
      store_([this] { announcement_.request(); }),
      labels_(options.labels ? std::make_unique<BindingLabels>(core, clock, session_, *options.labels) : nullptr),
      watches_(
          core, clock, session_, store_, events_, options.pace,
          [this] {
            // Parsing the first lists took the most memory that this process ever needs.
            if (watches_.synced()) release_startup_memory();
            store_.touch();
          },
          labels_.get()) {
  if (options.pages) pages_ = std::make_unique<Pages>(core, clock, session_, options, [this] { store_.touch(); });
}

FleetService::~FleetService() = default;

Task<void> FleetService::run() {
  using namespace asio::experimental::awaitable_operators;
  co_await (watches_.run() && follow_pages() && label_claims());
}

Task<void> FleetService::follow_pages() {
  if (pages_) co_await pages_->watch.run();
}

Task<void> FleetService::label_claims() {
  if (labels_) co_await labels_->run(watches_.claims());
}

void FleetService::announce() {
  cache_.clear();
  readers_->announced = store_.revision();
  std::vector<std::function<void()>> ready;
  for (const Changes* reader : readers_->open) ready.push_back(reader->ready());
  for (const auto& call : ready) call();
}

std::vector<WebRoute> FleetService::routes() {
  return {cached_route("/api/v1/summary", [this](const WebRequest&) { return summary(); }),
          cached_route("/api/v1/nodes", [this](const WebRequest& request) { return nodes(request); }),
          cached_route("/api/v1/heat", [this](const WebRequest& request) { return heat(request); }),
          {"GET", std::string(kNodePath), [this](WebRequest request) { return node(std::move(request)); }},
          route("/api/v1/watch", [this](const WebRequest&) { return changes(); })};
}

WebRoute FleetService::route(std::string path, Page page) {
  return {"GET", std::move(path), [this, page = std::move(page)](const WebRequest& request) {
            ++requests_;
            return respond(page(request));
          }};
}

WebRoute FleetService::cached_route(std::string path, Page page) {
  return route(std::move(path), [this, page = std::move(page)](const WebRequest& request) {
    const std::string key = request.path + "?" + request.query;
    if (const auto known = cache_.find(key); known != cache_.end()) return known->second;
    WebResponse response = page(request);
    if (response.status == 200 && cache_.size() < kMostCached) cache_.emplace(key, response);
    return response;
  });
}

WebResponse FleetService::summary() const {
  Freshness freshness{watches_.synced(), watches_.warnings()};
  if (pages_)
    if (auto warning = pages_->watch.warning()) freshness.warnings.push_back(std::move(*warning));
  return json_response(summary_json(store_, freshness));
}

WebResponse FleetService::nodes(const WebRequest& request) const {
  const auto query = node_query(parameters_of(request));
  return query ? json_response(nodes_json(store_, *query)) : error_response(400, query.error().message);
}

WebResponse FleetService::heat(const WebRequest& request) const {
  const auto filter = device_filter(parameters_of(request));
  return filter ? json_response(heat_json(store_, *filter)) : error_response(400, filter.error().message);
}

Task<WebResponse> FleetService::node(WebRequest request) {
  ++requests_;
  const auto query = device_query(parameters_of(request));
  if (!query) co_return error_response(400, query.error().message);
  const std::string name = request.path.substr(std::min(kNodePath.size(), request.path.size()));
  json::value page;
  if (pages_) page = co_await pages_->links.to_node(name, request.visitor.subject);
  auto found = node_json(store_, events_, name, *query, page);
  if (!found) co_return error_response(404, "no driver publishes devices of this node");
  co_return json_response(std::move(*found));
}

WebResponse FleetService::changes() const {
  WebResponse response;
  response.events = [readers = readers_](std::function<void()> ready) -> std::unique_ptr<EventSource> {
    return std::make_unique<Changes>(readers, std::move(ready));
  };
  return response;
}

std::string FleetService::metrics() const {
  std::size_t devices = 0;
  for (const auto& [node, parts] : store_.nodes())
    for (const FleetStore::Part& part : parts) devices += part.devices.size();
  std::string out;
  const auto add = [&out](std::string_view name, std::string_view type, std::string_view help, std::uint64_t value) {
    out += fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n{0} {3}\n", name, help, type, value);
  };
  add("cardcage_fleet_nodes", "gauge", "Nodes that have devices.", store_.nodes().size());
  add("cardcage_fleet_devices", "gauge", "Devices in ResourceSlices of all drivers.", devices);
  add("cardcage_fleet_incomplete_pools", "gauge", "Pools whose newest generation lacks slices.",
      store_.incomplete_pools().size());
  add("cardcage_fleet_lost_watches", "gauge", "Watches that have lost the API server.", watches_.lost());
  add("cardcage_fleet_readers", "gauge", "Browsers that follow changes.", readers_->open.size());
  if (labels_)
    add("cardcage_fleet_unlabelled_claims", "gauge", "Claims whose label for a node's daemon is wrong.",
        labels_->waiting());
  add("cardcage_fleet_requests_total", "counter", "Requests for JSON.", requests_);
  add("cardcage_fleet_changes_total", "counter", "Changes of devices, claims, rules and Events.", store_.revision());
  return out;
}

}  // namespace cardcage
