#include "host/daemon/node_serving.h"

#include <functional>
#include <set>
#include <utility>

#include "host/kubelet/socket_records.h"

namespace cardcage {
namespace {

// The limit for one claim, whose module may be slow.
constexpr Duration kRefitLimit = std::chrono::minutes(2);

}  // namespace

NodeServing::NodeServing(Foundation& daemon, const DeviceTable& table, CallMeter& meter, ClaimHost& host,
                         OrphanPace pace, std::function<bool()> claim_users_wanted)
    : daemon_(daemon),
      claim_users_wanted_(std::move(claim_users_wanted)),
      sockets_(KubeletSockets::below(daemon.config.node.kubelet_root, daemon.config.node.device_plugins_dir)),
      seed_(static_cast<std::uint32_t>(std::hash<std::string>{}(daemon.config.node.name))),
      pods_wanted_(daemon.core),
      cdi_keeper_(daemon.core, daemon.clock, *daemon.ledger, daemon.cdi,
                  [this](std::vector<ClaimKey> claims) { spawn(daemon_.core, refit(std::move(claims))); }),
      statuses_(daemon.core, daemon.clock, *daemon.cluster),
      kubelet_(sockets_),
      claims_(daemon.core, daemon.clock, *daemon.cluster,
              [this](std::string uid, Instant deadline) { return pods_watch_.has_pod(std::move(uid), deadline); }),
      pods_watch_(daemon.core, daemon.clock, kubelet_, sockets_.pods,
                  PodsWatch::Listener{.gone = [this] { pods_.nudge(); },
                                      .coming = [this](ComingPod pod) { claims_.expect(std::move(pod)); },
                                      .left = [this](const std::string& uid) { claims_.forget(uid); }},
                  seed_),
      context_{.core = daemon.core,
               .clock = daemon.clock,
               .config = daemon.config,
               .cluster = *daemon.cluster,
               .claims = claims_,
               .ledger = *daemon.ledger,
               .cdi = daemon.cdi,
               .table = table,
               .kubelet = kubelet_,
               .meter = meter,
               .handed_out = [this] { pods_.nudge(); },
               .host = host,
               .statuses = statuses_,
               .standby = daemon.standby,
               .fault = daemon.fault},
      drivers_(context_),
      resources_(context_),
      pods_(daemon.core, daemon.clock, kubelet_, resources_, sockets_, pods_watch_,
            PodReconcilerOptions{.kubelet_root = daemon.config.node.kubelet_root,
                                 .device_plugins = daemon.config.node.device_plugins_dir,
                                 .jitter_seed = seed_,
                                 .claims_wanted = claim_users_wanted_}),
      orphans_(make_orphan_search(pace)) {
  for (const auto& [key, claim] : daemon.ledger->claims())
    if (claim->phase == ClaimPhase::kPrepared) statuses_.restore(*claim);
}

// On the embedded node, files stand for claims, and only their owner knows whether a deleted one comes back.
std::unique_ptr<OrphanedClaims> NodeServing::make_orphan_search(OrphanPace pace) {
  const NodeConfig& node = daemon_.config.node;
  if (!node.claims_folder.empty()) return nullptr;
  OrphanedClaims::Release release = [this](std::string name, ClaimRef claim, TurnCheck check) -> Task<Status> {
    Driver* const driver = drivers_.find(name);
    if (!driver) co_return fail(Code::kUnavailable, "it is not served");
    co_return co_await driver->unprepare(std::move(claim), std::move(check));
  };
  return std::make_unique<OrphanedClaims>(daemon_.core, daemon_.clock, *daemon_.cluster, *daemon_.ledger,
                                          node.kubelet_root, std::move(release), pace);
}

void NodeServing::run(TaskGroup& loops) {
  remove_left_sockets();
  spawn(daemon_.core, daemon_.standby.close());
  loops.spawn(pods_watch_.run());
  loops.spawn(reconcile_pods());
  std::vector<ClaimKey> claims;
  for (const auto& [key, claim] : daemon_.ledger->claims()) claims.push_back(key);
  spawn(daemon_.core, refit(std::move(claims)));
  // Not among the loops: shutdown must not wait for the API server.
  spawn(daemon_.core, statuses_.run());
  if (orphans_) spawn(daemon_.core, orphans_->run());
}

void NodeServing::stop_loops() {
  stopping_ = true;
  pods_wanted_.wake();
  pods_.stop();
  pods_watch_.stop();
  if (orphans_) orphans_->stop();
}

void NodeServing::configure(const std::set<std::string>& affected) {
  drivers_.configure(affected);
  resources_.configure(affected);
  if (!resources_.all().empty()) pods_wanted_.wake();
}

void NodeServing::refresh(const Supervisor& supervisor, SupervisorEvent event) {
  drivers_.refresh(supervisor, event);
  resources_.refresh(supervisor, event);
  if (is_of_module(event) && (!resources_.all().empty() || claim_users_wanted_())) pods_wanted_.wake();
}

Task<void> NodeServing::tidy() {
  co_await drivers_.tidy();
  co_await resources_.tidy();
}

// The kubelet repeats a prepare when it starts, but containers start at any time, with the files that the CDI file
// names.
Task<void> NodeServing::refit(std::vector<ClaimKey> claims) {
  for (const ClaimKey& key : claims) {
    if (stopping_) co_return;
    const Instant deadline = daemon_.clock.now() + kRefitLimit;
    const std::string name = key.served().name;
    if (key.served().is_resource()) {
      if (Resource* const resource = resources_.find(name)) co_await resource->allocator().refit(key.uid, deadline);
    } else if (Driver* const driver = drivers_.find(name)) {
      co_await driver->claims().refit(key.uid, deadline);
    }
  }
}

Task<void> NodeServing::reconcile_pods() {
  while (resources_.all().empty() && !claim_users_wanted_() && !stopping_) co_await pods_wanted_.wait();
  if (!stopping_) co_await pods_.run();
}

// The kubelet keeps a name registered as long as its socket exists. A served name replaces its own socket.
void NodeServing::remove_left_sockets() const {
  const NodeConfig& node = daemon_.config.node;
  std::set<std::string> served;
  for (const Driver* driver : drivers_.all()) served.insert(driver->name().name);
  remove_recorded_sockets(node.state_dir / kSocketRecords, served);
  remove_stale_sockets(node.device_plugins_dir);
  remove_stale_sockets(node.kubelet_root / "plugins_registry");
}

}  // namespace cardcage
