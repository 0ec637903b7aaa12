#include "host/serving/driver.h"

#include <algorithm>
#include <utility>

namespace cardcage {
namespace {

// A socket path that is in the way, or a kubelet folder that does not exist yet.
constexpr Duration kSocketRetry = std::chrono::seconds(1);
// An API server that is away does not hold a driver that goes: the kubelet removes its slices.
constexpr Duration kPublisherPatience = std::chrono::seconds(30);

}  // namespace

Driver::Driver(std::string name, DriverContext context)
    : name_(std::move(name)),
      context_(context),
      claims_(ClaimPreparer::create(
          name_, plan_from_cluster(name_, context.cluster, context.table, context.ledger, context.clock),
          {.core = context.core,
           .ledger = context.ledger,
           .devices = context.table,
           .cdi = context.cdi,
           .clock = context.clock,
           .fault = context.fault})),
      measured_(name_, *claims_, context.meter, context.clock),
      publisher_(make_publisher()),
      publisher_ended_(context.core) {
  if (has_claims()) open_sockets();
}

std::unique_ptr<SlicePublisher> Driver::make_publisher() const {
  const Config& config = context_.config;
  return std::make_unique<SlicePublisher>(
      context_.core, context_.clock, context_.cluster,
      PublisherOptions{.driver = name_,
                       .node_name = config.node.name,
                       .request_timeout = config.apiserver.request_timeout,
                       .jitter_seed = static_cast<std::uint32_t>(std::hash<std::string>{}(config.node.name))});
}

bool Driver::has_claims() const {
  return std::ranges::any_of(context_.ledger.claims(), [&](const auto& entry) { return entry.first.driver == name_; });
}

void Driver::refresh_soon() {
  if (std::exchange(refreshing_, true)) return;
  asio::post(context_.core, [this] {
    refreshing_ = false;
    refresh();
  });
}

void Driver::refresh() {
  if (stopping_) return;
  health_.set(context_.table.health(name_));
  if (!server_ && !server_error_ && context_.table.known(name_)) open_sockets();
  if (!context_.table.complete(name_)) return;
  auto pools = context_.table.pools(name_);
  if (!pools.empty())
    offers_nothing_.reset();
  else if (!offers_nothing_)
    offers_nothing_ = context_.clock.now();
  publisher_->set_pools(std::move(pools));
  if (!std::exchange(published_, true)) spawn(context_.core, publish());
}

Task<void> Driver::publish() {
  co_await publisher_->run();
  publisher_ended_.set(true);
}

void Driver::open_sockets() {
  const Config& config = context_.config;
  DriverServerOptions options{.driver = name_,
                              .kubelet_root = config.node.kubelet_root,
                              .instance = config.node.instance,
                              .limits = {config.deadlines.prepare, config.deadlines.unprepare},
                              .health = {}};
  auto server = DriverServer::start(context_.core, context_.clock, measured_, health_, std::move(options));
  if (server) {
    server_ = std::move(*server);
    server_error_.reset();
    return;
  }
  if (server_error_ != server.error()) {
    log(LogLevel::kError, "driver cannot be served; trying again every second",
        {{"driver", name_}, {"error", server.error().message}});
  }
  server_error_ = server.error();
  spawn(context_.core, retry_later());
}

Task<void> Driver::retry_later() {
  co_await context_.clock.sleep_for(kSocketRetry);
  if (!stopping_ && !server_) open_sockets();
}

Task<void> Driver::stop(Instant deadline) {
  if (std::exchange(stopping_, true)) co_return;
  publisher_->stop();
  if (published_) co_await publisher_ended_.wait();
  if (server_) co_await server_->stop(deadline);
}

void Driver::start() {
  server_.reset();
  server_error_.reset();
  publisher_ = make_publisher();
  publisher_ended_ = OneShot<bool>(context_.core);
  published_ = stopping_ = false;
  offers_nothing_.reset();
  refresh_soon();
}

bool Driver::idle() const {
  if (has_claims()) return false;
  if (!published_) return true;
  return offers_nothing_ &&
         (publisher_->status().in_sync || context_.clock.now() - *offers_nothing_ > kPublisherPatience);
}

void Driver::set_deadlines(const DeadlineConfig& deadlines) {
  if (server_) server_->set_limits({deadlines.prepare, deadlines.unprepare});
}

std::optional<DriverStatus> Driver::server_status() const {
  return server_ ? std::optional(server_->status()) : std::nullopt;
}

}  // namespace cardcage
