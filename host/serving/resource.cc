#include "host/serving/resource.h"

#include <algorithm>
#include <set>
#include <utility>

#include "host/core/log.h"
#include "host/model/standard_attributes.h"

namespace cardcage {
namespace {

// Modules usually start within milliseconds. A resource whose module takes longer than this is registered without it,
// with the devices that pods have.
constexpr Duration kModuleStart = std::chrono::seconds(1);
// A device that is gone stays listed as unhealthy for this long, because the kubelet may be about to hand it out: from
// 1.34 on it fails the pod if the id vanishes between its choice and our response.
constexpr Duration kLeaving = std::chrono::seconds(2);
constexpr Duration kRestoreLimit = std::chrono::minutes(2);
constexpr std::chrono::seconds kFirstRestorePause{10}, kLongestRestorePause{60};
// The kubelet waits for the choice in its admission loop; the host's own choice takes less than a millisecond.
constexpr Duration kModuleChoice = std::chrono::milliseconds(500);

}  // namespace

Resource::Resource(ServedName served, const ServingContext& shared)
    : Served(std::move(served), shared),
      allocator_(name().name, config_,
                 {.core = shared.core,
                  .ledger = shared.ledger,
                  .devices = shared.table,
                  .cdi = shared.cdi,
                  .clock = shared.clock,
                  .deadlines = shared.config.deadlines,
                  .host = shared.host,
                  .fault = shared.fault,
                  .resource = &config_,
                  .durability = Durability::kProcess,  // the kubelet repeats data lost in a crash of the node
                  .retry = "the kubelet does not try again, the pod's controller makes a new pod",
                  .repeated = false},
                 [this] { refresh_soon(); }) {
  start();
}

Instant Resource::refresh() {
  list_.set(devices_now());
  const Instant now = context().clock.now(), module_limit = started() + kModuleStart;
  const bool known = context().table.known(name()), held = !allocator_.records().empty();
  // A name that is no longer configured waits for no module. A kubelet that restarts may reject running pods of a
  // resource that it does not know.
  if (configured() ? known || (held && now >= module_limit) : held) serve();
  if (const ResourceTraits current = traits(); server() && std::exchange(told_, current) != current)
    server()->reregister();
  if (known && restoring_ != started()) {
    restoring_ = started();
    spawn(context().core, restore());
  }
  Instant next = now < module_limit ? module_limit : Instant::max();
  for (const auto& [id, until] : leaving_)
    if (until > now) next = std::min(next, until);
  if (const Supervisor* supervisor = context().table.supervisor(name()))
    if (const auto end = grace_end(*supervisor); end && *end > now) next = std::min(next, *end);
  return next;
}

// -- the list --------------------------------------------------------------------------------------------------------

DeviceList Resource::devices_now() {
  std::map<std::string, ListedDevice> listed;
  refused_.clear();
  const HeldDevices held = held_devices();
  for (const ServedDevice* served : context().table.devices(name())) add_device(*served, held, listed);
  // A device that pods have stays listed in any state: otherwise the kubelet's count is wrong.
  for (const auto& record : allocator_.records())
    for (const Holder& holder : holders_of(*record))
      listed.try_emplace(holder.id, ListedDevice{.id = holder.id, .healthy = false, .numa_nodes = {}});
  add_leaving(listed);
  DeviceList list;
  list.reserve(listed.size());
  for (auto& [id, device] : listed) list.push_back(std::move(device));
  return list;
}

std::optional<Instant> Resource::grace_end(const Supervisor& supervisor) const {
  const auto away = supervisor.away_since();
  return away ? std::optional(*away + config_.restart_grace) : std::nullopt;
}

// The kubelet rejects pods as soon as it has too few healthy devices, but a crashed module is usually back within
// seconds. Allocate waits for it.
bool Resource::usable(const ServedDevice& served) const {
  const Supervisor& supervisor = *served.supervisor;
  // An unhealthy entry is the kubelet's only way to keep new pods away; pods that have the device read that it is
  // unhealthy.
  if (supervisor.device_health().find_cordon(served.device.id)) return false;
  const auto end = grace_end(supervisor);
  const bool spared = end && context().clock.now() < *end;
  const DeviceHealth known = spared ? supervisor.reported_health(served.device) : supervisor.health(served.device);
  const auto ruled = [](const CauseHealth& cause) { return cause.kubelet.has_value(); };
  if (std::ranges::any_of(known.causes, ruled)) return told_to_kubelet(known) != KubeletHealth::kUnhealthy;
  const Health& health = known.health;
  return health.state == HealthState::kHealthy || health.state == HealthState::kDegraded ||
         health.state == HealthState::kUnmonitored ||
         (health.state == HealthState::kUnknown && health.reason.empty());  // its module reports no health
}

HeldDevices Resource::held_devices() const {
  const Supervisor* const supervisor = context().table.supervisor(name());
  return {supervisor ? supervisor->config().name : "", supervisor ? supervisor->snapshot() : nullptr, context().ledger};
}

void Resource::add_device(const ServedDevice& served, const HeldDevices& held,
                          std::map<std::string, ListedDevice>& listed) {
  const Device& device = served.device;
  std::set<std::string> ids;
  for (std::uint32_t n = 0; n < config_.replicas; ++n)
    ids.insert(config_.replicas == 1 ? device.id : fmt::format("{}::{}", device.id, n));
  const std::size_t longest = std::ranges::max(ids, {}, &std::string::size).size();
  if (longest > kMaxDeviceId) {
    refused_[device.id] = fmt::format("its id has {} bytes{} and the kubelet takes {}; the module has to shorten it",
                                      longest, config_.replicas == 1 ? "" : " with the replica's number", kMaxDeviceId);
    log_limited(LogLevel::kError, name().name + "/long-id", "device cannot be listed",
                {{"resource", name().name}, {"device", device.id}, {"error", refused_[device.id]}});
    return;
  }
  const auto record = allocator_.record_for(held.module(), device);
  bool healthy = usable(served) && !allocator_.unavailable(held, device, record.get());
  // A device that was handed out with another replica count, before the configuration changed, is not shared.
  if (record)
    for (const Holder& holder : holders_of(*record)) healthy &= ids.contains(holder.id);
  for (const std::string& id : ids) listed[id] = {id, healthy, device.numa_nodes};
}

void Resource::add_leaving(std::map<std::string, ListedDevice>& listed) {
  const Instant now = context().clock.now();
  for (const ListedDevice& before : *list_.current()) {
    if (listed.contains(before.id)) {
      leaving_.erase(before.id);
      continue;
    }
    const auto entry = leaving_.try_emplace(before.id, now + kLeaving).first;
    if (now < entry->second || allocator_.busy(before.id))
      listed[before.id] = {before.id, false, before.numa_nodes};
    else
      leaving_.erase(entry);
  }
}

// -- the server ------------------------------------------------------------------------------------------------------

Result<std::unique_ptr<ResourceServer>> Resource::open_server() {
  const Config& config = context().config;
  told_ = traits();
  way_ = config_.registration;
  ResourceServerOptions options{.resource = name().name,
                                .kubelet_root = config.node.kubelet_root,
                                .device_plugins_dir = config.node.device_plugins_dir,
                                .instance = config.node.instance,
                                .way = config_.registration,
                                .limits = {config.deadlines.allocate, config.deadlines.pre_start}};
  return ResourceServer::start(context().core, context().clock, *this, list_, context().kubelet, std::move(options));
}

// Ends with the name's run in which it was begun.
Task<void> Resource::restore() {
  Backoff pauses(kFirstRestorePause, kLongestRestorePause, name().name);
  for (const Instant life = started(); running() && started() == life;) {
    const bool whole = co_await allocator_.restore(context().clock.now() + kRestoreLimit);
    if (whole) co_return;  // GCC 12 continues the loop if the condition itself awaits
    co_await context().clock.sleep_for(pauses.next());
  }
}

void Resource::configure(const ServeConfig* rule) {
  Served::configure(rule);
  if (rule) config_ = rule->plugin;
  allocator_.configure(config_);
}

bool Resource::idle() const { return allocator_.records().empty() && list_.current()->empty(); }

void Resource::set_deadlines(const DeadlineConfig& deadlines) {
  if (server()) server()->set_limits({deadlines.allocate, deadlines.pre_start});
}

void Resource::reregister() {
  if (server()) server()->reregister();
}

void Resource::resend() {
  if (server()) server()->resend();
}

// -- the kubelet's calls ---------------------------------------------------------------------------------------------

ResourceTraits Resource::traits() const {
  const Supervisor* supervisor = context().table.supervisor(name());
  return {.pre_start = supervisor && supervisor->identity() && supervisor->identity()->has(Family::kPreStart)};
}

Task<Result<ContainerGrant>> Resource::allocate(std::vector<std::string> ids, Instant deadline) {
  auto granting = grant(std::move(ids), deadline);
  auto granted =
      co_await context().meter.measured(KubeletCall::kAllocate, name().name, context().clock, std::move(granting));
  context().handed_out();
  co_return granted;
}

Task<Result<ContainerGrant>> Resource::grant(std::vector<std::string> ids, Instant deadline) {
  for (const std::string& id : ids) {
    const ListedDevice* const listed = find_device(*list_.current(), id);
    if (!listed) co_return fail(Code::kNotFound, "device '{}' of resource '{}' is not on this node", id, name().name);
    if (!listed->healthy)
      co_return fail(Code::kUnavailable,
                     "device '{}' of resource '{}' cannot be used now; 'cagectl devices' on the node says why", id,
                     name().name);
  }
  co_return co_await allocator_.allocate(std::move(ids), deadline);
}

std::vector<Candidate> Resource::candidates(const std::vector<std::string>& ids) const {
  const auto text_of = [](const Device& device, const char* attribute) {
    const auto entry = device.attributes.find(attribute);
    const auto* text = entry == device.attributes.end() ? nullptr : std::get_if<std::string>(&entry->second);
    return text ? *text : std::string();
  };
  std::vector<Candidate> known;
  for (const std::string& id : ids) {
    const std::string device_id = device_id_of(id, config_.replicas > 1);
    const ServedDevice* const served = context().table.find_id(name(), device_id);
    if (!served) {
      known.push_back({.id = id, .device = device_id});  // gone since then: the kubelet may require it
      continue;
    }
    const Device& device = served->device;
    const auto record = allocator_.record_for(served->supervisor->config().name, device);
    const std::size_t in_use = record ? holders_of(*record).size() : 0;
    known.push_back({.id = id,
                     .device = device_id,
                     .numa_nodes = device.numa_nodes,
                     .pcie_root = text_of(device, kPcieRootAttribute),
                     .parent = device.parent_id,
                     .in_use = static_cast<std::uint32_t>(in_use)});
  }
  return known;
}

// The vendor knows links that sysfs does not show; the host's own choice is the fallback if the call fails or takes
// long.
Task<std::vector<std::string>> Resource::preferred(PreferenceQuery query, Instant deadline) {
  const Supervisor* supervisor = context().table.supervisor(name());
  const auto module = supervisor ? supervisor->module() : fail(Code::kUnavailable, "no module");
  if (module && (*module)->identity().has(Family::kPreferred) && config_.replicas == 1) {
    const Instant limit = std::min(deadline, context().clock.now() + kModuleChoice);
    ChooseCall choose{query.available, query.required, query.wanted};
    auto chosen = co_await (*module)->call(std::move(choose), limit);
    if (chosen && chosen->size() == query.wanted) co_return std::move(*chosen);
    if (!chosen)
      log_limited(LogLevel::kWarn, name().name + "/preferred", "module cannot choose; the host does",
                  {{"resource", name().name}, {"error", chosen.error().message}});
  }
  co_return preferred_ids(candidates(query.available), query.required, query.wanted, config_.placement);
}

Task<Status> Resource::pre_start(std::vector<std::string> ids, Instant deadline) {
  return context().meter.measured(KubeletCall::kPreStart, name().name, context().clock,
                                  allocator_.pre_start(std::move(ids), deadline));
}

}  // namespace cardcage
