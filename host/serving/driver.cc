#include "host/serving/driver.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <tuple>
#include <utility>

#include "host/kubelet/socket_records.h"

namespace cardcage {
namespace {

// Limit for an unreachable API server when a driver is removed: the kubelet removes its slices afterwards.
constexpr Duration kPublisherLimit = std::chrono::seconds(30);
constexpr Duration kGoneInterval = std::chrono::seconds(10);

std::unique_ptr<SlicePublisher> make_publisher(const std::string& driver, const ServingContext& context) {
  const Config& config = context.config;
  return std::make_unique<SlicePublisher>(
      context.core, context.clock, context.cluster,
      PublisherOptions{.driver = driver,
                       .node_name = config.node.name,
                       .request_timeout = config.apiserver.request_timeout,
                       .jitter_seed = static_cast<std::uint32_t>(std::hash<std::string>{}(config.node.name))});
}

// Returns the devices that a claim has to wait for.
Binder::Devices bound_devices(const SlicePublisher::Pools& pools) {
  Binder::Devices bound;
  for (const auto& [pool, content] : pools)
    for (const SliceDevice& device : content->devices)
      if (!device.binding.empty()) bound.emplace(pool, device.name);
  return bound;
}

std::unique_ptr<Binder> make_binder(const std::string& driver, std::shared_ptr<ClaimPreparer> claims,
                                    const ServingContext& context) {
  return std::make_unique<Binder>(driver, std::move(claims),
                                  BinderEnvironment{.core = context.core,
                                                    .clock = context.clock,
                                                    .cluster = context.cluster,
                                                    .ledger = context.ledger,
                                                    .devices = context.table,
                                                    .deadlines = context.config.deadlines});
}

}  // namespace

Driver::Driver(ServedName served, const ServingContext& shared)
    : Served(std::move(served), shared),
      claims_(ClaimPreparer::create(
          name().name, plan_from_cluster(name().name, shared.claims, shared.table, shared.ledger, shared.clock),
          {.core = shared.core,
           .ledger = shared.ledger,
           .devices = shared.table,
           .cdi = shared.cdi,
           .clock = shared.clock,
           .deadlines = shared.config.deadlines,
           .host = shared.host,
           .fault = shared.fault,
           .statuses = &shared.statuses})),
      measured_(name().name, *claims_, shared.meter, shared.clock),
      front_(shared.standby.take(name().name)),
      publisher_(make_publisher(name().name, shared)),
      binder_(make_binder(name().name, claims_, shared)),
      parts_(shared.core) {
  start();
  front_->claims.serve_by(measured_);
  if (front_->server || has_claims()) serve();
}

bool Driver::has_claims() const { return !context().ledger.claims_of(name().name).empty(); }

Instant Driver::refresh_health() {
  HealthList known = context().table.health(name());
  HealthList gone = gone_devices();
  // Polls: a claim gives back a device that is gone without an event.
  const Instant next = gone.empty() ? Instant::max() : context().clock.now() + kGoneInterval;
  std::ranges::move(gone, std::back_inserter(known));
  front_->health.set(std::move(known));
  return next;
}

Instant Driver::refresh() {
  const DeviceTable& table = context().table;
  const Instant next = refresh_health();
  if (has_claims() || table.known(name())) serve();
  if (!std::exchange(working_, true)) {
    parts_.spawn(binder_->run());
    parts_.spawn(publisher_->run());
  }
  auto pools = table.pools(name());
  if (configured() && !table.complete(name())) {
    // Pools that no rule names any more are deleted at once. The others stay until their modules have listed their
    // devices.
    for (auto& [pool, content] : pools) content = nullptr;
    publisher_->set_pools(std::move(pools));
    return next;
  }
  if (!pools.empty())
    offers_nothing_.reset();
  else if (!offers_nothing_)
    offers_nothing_ = context().clock.now();
  binder_->set_devices(bound_devices(pools));
  publisher_->set_pools(std::move(pools));
  return next;
}

// Lists devices that claims hold and no module lists: the kubelet would report a device without health as unknown.
HealthList Driver::gone_devices() const {
  const DeviceTable& table = context().table;
  HealthList list;
  std::set<std::pair<std::string, std::string>> gone;
  for (const auto& [key, record] : context().ledger.claims_of(name().name))
    for (const ModulePart& part : record->parts) {
      const Supervisor* const supervisor = table.supervisor_of(part.module);
      if (!supervisor || !supervisor->snapshot()) continue;  // its gone devices are unknown
      for (const HeldDevice& held : part.devices) {
        const auto& [pool, device] = std::tie(held.allocation.pool, held.allocation.device);
        if (pool.empty() || table.has(name(), pool, device) || !gone.emplace(pool, device).second) continue;
        list.push_back(health_report(pool, device, supervisor->device_health().health_of_absent(held.device_id)));
      }
    }
  return list;
}

Result<std::unique_ptr<DriverServer>> Driver::open_server() {
  const Config& config = context().config;
  Result<std::unique_ptr<DriverServer>> server = std::move(front_->server);
  if (!*server)
    server = DriverServer::start(context().core, context().clock, front_->claims, front_->health,
                                 driver_server_options(config, name().name));
  if (server) keep_socket_record(config.node.state_dir / kSocketRecords, name().name, (*server)->status().sockets);
  return server;
}

Task<Status> Driver::unprepare(ClaimRef claim, TurnCheck check) {
  return claims_->unprepare_if(std::move(check), std::move(claim), unprepare_deadline());
}

Task<Status> Driver::drop(ClaimRef claim) { return claims_->drop(std::move(claim), unprepare_deadline()); }

Instant Driver::unprepare_deadline() const { return context().clock.now() + context().config.deadlines.unprepare; }

Task<void> Driver::before_stop() {
  binder_->stop();
  publisher_->stop();
  co_await parts_.join(context().clock, Instant::max());
  working_ = false;
  offers_nothing_.reset();
  binder_ = make_binder(name().name, claims_, context());
  publisher_ = make_publisher(name().name, context());
}

bool Driver::idle() const {
  if (has_claims()) return false;
  if (!working_) return true;
  return offers_nothing_ &&
         (publisher_->status().in_sync || context().clock.now() - *offers_nothing_ > kPublisherLimit);
}

void Driver::set_deadlines(const DeadlineConfig& deadlines) {
  if (server()) server()->set_limits({deadlines.prepare, deadlines.unprepare});
}

}  // namespace cardcage
