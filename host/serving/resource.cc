#include "host/serving/resource.h"

#include <algorithm>
#include <set>
#include <utility>

#include "host/core/log.h"
#include "host/serving/preferred.h"
#include "host/serving/topology.h"

namespace cardcage {
namespace {

// Modules mostly start within milliseconds. After that, the kubelet hears at least of what pods have.
constexpr Duration kPatience = std::chrono::seconds(1);
// A device that is gone is listed as unhealthy so long before it is dropped: the kubelet may be handing it out just now
// (facts: since 1.34 it takes an id that vanishes between its choice and our answer badly).
constexpr Duration kLeaving = std::chrono::seconds(2);
constexpr Duration kRestoreRetry = std::chrono::seconds(10), kRestoreLimit = std::chrono::minutes(2);
// The kubelet waits for the choice in its admission loop; the host's own takes less than a millisecond.
constexpr Duration kModuleChoice = std::chrono::milliseconds(500);

PluginLimits limits_of(const DeadlineConfig& deadlines) {
  PluginLimits limits;
  limits.allocate = deadlines.allocate;
  limits.pre_start = deadlines.pre_start;
  return limits;
}

bool usable(const DeviceHealth& known) {
  return known.health.state == HealthState::kHealthy ||
         (known.health.state == HealthState::kUnknown && known.health.reason.empty());  // nobody watches it
}

}  // namespace

Resource::Resource(std::string name, ResourceContext context)
    : name_(std::move(name)),
      context_(std::move(context)),
      allocator_(name_, config_,
                 {.core = context_.core,
                  .ledger = context_.ledger,
                  .devices = context_.table,
                  .cdi = context_.cdi,
                  .clock = context_.clock,
                  .fault = context_.fault,
                  .durability = Durability::kProcess,  // what is lost is learnt from the kubelet again
                  .retry = "the kubelet does not try again, the pod's controller makes a new pod"},
                 [this] { refresh_soon(); }) {
  if (!allocator_.records().empty()) spawn(context_.core, open_later());
}

Resource::~Resource() = default;

void Resource::refresh_soon() {
  if (std::exchange(refreshing_, true)) return;
  asio::post(context_.core, [this] {
    refreshing_ = false;
    refresh();
  });
}

Task<void> Resource::refresh_later(Duration pause) {
  co_await context_.clock.sleep_for(pause);
  if (!stopping_) refresh_soon();
}

void Resource::refresh() {
  if (stopping_) return;
  list_.set(devices_now());
  if (!server_ && !server_error_ && context_.table.known(name_)) open_server();
  if (const ResourceTraits now = traits(); server_ && std::exchange(told_, now) != now) server_->reregister();
  if (context_.table.known(name_) && !std::exchange(restoring_, true)) spawn(context_.core, restore());
}

// -- the list --------------------------------------------------------------------------------------------------------

DeviceList Resource::devices_now() {
  std::map<std::string, ListedDevice> listed;
  refused_.clear();
  for (const ServedDevice* served : context_.table.devices(name_)) add_device(*served, listed);
  // What pods have stays on the list whatever happens to the device, or the kubelet loses count.
  for (const auto& record : allocator_.records())
    for (const Holder& holder : holders_of(*record))
      listed.try_emplace(holder.id, ListedDevice{.id = holder.id, .healthy = false, .numa_nodes = {}});
  add_leaving(listed);
  DeviceList list;
  list.reserve(listed.size());
  for (auto& [id, device] : listed) list.push_back(std::move(device));
  return list;
}

void Resource::add_device(const ServedDevice& served, std::map<std::string, ListedDevice>& listed) {
  const Device& device = served.device;
  std::set<std::string> ids;
  for (std::uint32_t n = 0; n < config_.replicas; ++n)
    ids.insert(config_.replicas == 1 ? device.id : fmt::format("{}::{}", device.id, n));
  const std::size_t longest = std::ranges::max(ids, {}, &std::string::size).size();
  if (longest > kMaxDeviceId) {
    refused_[device.id] = fmt::format("its id has {} bytes{} and the kubelet takes {}; the module has to shorten it",
                                      longest, config_.replicas == 1 ? "" : " with the replica's number", kMaxDeviceId);
    log_limited(LogLevel::kError, name_ + "/long-id", "device cannot be listed",
                {{"resource", name_}, {"device", device.id}, {"error", refused_[device.id]}});
    return;
  }
  bool healthy =
      usable(served.supervisor->health(device)) && !allocator_.unavailable(served.supervisor->config().name, device);
  // Handed out as a whole or with other replicas, before the configuration changed: not to be shared with that.
  if (const auto record = context_.ledger.find({name_, device.name}))
    for (const Holder& holder : holders_of(*record)) healthy &= ids.contains(holder.id);
  for (const std::string& id : ids) listed[id] = {id, healthy, device.numa_nodes};
}

void Resource::add_leaving(std::map<std::string, ListedDevice>& listed) {
  const Instant now = context_.clock.now();
  for (const ListedDevice& before : *list_.current()) {
    if (listed.contains(before.id)) {
      leaving_.erase(before.id);
      continue;
    }
    const auto [entry, fresh] = leaving_.try_emplace(before.id, now + kLeaving);
    if (fresh) spawn(context_.core, refresh_later(kLeaving));
    if (now < entry->second || allocator_.busy(before.id))
      listed[before.id] = {before.id, false, before.numa_nodes};
    else
      leaving_.erase(entry);
  }
}

// -- the server ------------------------------------------------------------------------------------------------------

Task<void> Resource::open_later() {
  co_await context_.clock.sleep_for(kPatience);
  if (!stopping_ && !server_ && !server_error_) {
    list_.set(devices_now());
    open_server();
  }
}

void Resource::open_server() {
  if (!configured_) return;
  const Config& config = context_.config;
  told_ = traits();
  way_ = config_.registration;
  ResourceServerOptions options{.resource = name_,
                                .kubelet_root = config.node.kubelet_root,
                                .device_plugins_dir = config.node.device_plugins_dir,
                                .instance = config.node.instance,
                                .way = config_.registration,
                                .limits = limits_of(config.deadlines)};
  auto server =
      ResourceServer::start(context_.core, context_.clock, *this, list_, context_.kubelet, std::move(options));
  if (server) {
    server_ = std::move(*server);
    return;
  }
  server_error_ = server.error();
  log(LogLevel::kError, "resource cannot be served", {{"resource", name_}, {"error", server_error_->message}});
}

Task<void> Resource::restore() {
  while (!stopping_) {
    const bool whole = co_await allocator_.restore(context_.clock.now() + kRestoreLimit);
    if (whole) co_return;  // GCC 12 goes on with the loop if the condition itself awaits
    co_await context_.clock.sleep_for(kRestoreRetry);
  }
}

Task<void> Resource::stop(Instant deadline) {
  if (std::exchange(stopping_, true)) co_return;
  if (server_) co_await server_->stop(deadline);
}

void Resource::start() {
  server_.reset();
  server_error_.reset();
  stopping_ = restoring_ = false;
  refresh_soon();
}

void Resource::configure(const ResourceConfig* config) {
  configured_ = config != nullptr;
  if (config) config_ = *config;
  allocator_.configure(config_);
}

bool Resource::outdated() const { return configured_ && server_ && way_ != config_.registration; }

bool Resource::idle() const { return allocator_.records().empty() && list_.current()->empty(); }

void Resource::set_deadlines(const DeadlineConfig& deadlines) {
  if (server_) server_->set_limits(limits_of(deadlines));
}

std::optional<ResourceStatus> Resource::server_status() const {
  return server_ ? std::optional(server_->status()) : std::nullopt;
}

void Resource::reregister() {
  if (server_) server_->reregister();
}

void Resource::resend() {
  if (server_) server_->resend();
}

// -- what the kubelet asks -------------------------------------------------------------------------------------------

ResourceTraits Resource::traits() const {
  const Supervisor* supervisor = context_.table.supervisor(name_);
  return {.pre_start = supervisor && supervisor->identity() && supervisor->identity()->has_pre_start};
}

Task<Result<ContainerGrant>> Resource::allocate(std::vector<std::string> ids, Instant deadline) {
  auto granting = grant(std::move(ids), deadline);
  auto granted = co_await context_.meter.measured(KubeletCall::kAllocate, name_, context_.clock, std::move(granting));
  context_.handed_out();
  co_return granted;
}

Task<Result<ContainerGrant>> Resource::grant(std::vector<std::string> ids, Instant deadline) {
  for (const std::string& id : ids) {
    const ListedDevice* const listed = find_device(*list_.current(), id);
    if (!listed) co_return fail(Code::kNotFound, "device '{}' of resource '{}' is not on this node", id, name_);
    if (!listed->healthy)
      co_return fail(Code::kUnavailable,
                     "device '{}' of resource '{}' cannot be used now; 'cagectl devices' on the node says why", id,
                     name_);
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
    const ServedDevice* const served = context_.table.find_id(name_, device_id);
    if (!served) {
      known.push_back({.id = id, .device = device_id});  // gone since: the kubelet may insist on it
      continue;
    }
    const Device& device = served->device;
    const auto record = context_.ledger.find({name_, device.name});
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

// The vendor knows links that sysfs does not show; the host's own choice stands in where it fails or takes long.
Task<std::vector<std::string>> Resource::preferred(PreferenceQuery query, Instant deadline) {
  const Supervisor* supervisor = context_.table.supervisor(name_);
  const auto module = supervisor ? supervisor->module() : fail(Code::kUnavailable, "no module");
  if (module && (*module)->identity().has_preferred && config_.replicas == 1) {
    const Instant limit = std::min(deadline, context_.clock.now() + kModuleChoice);
    auto chosen = co_await (*module)->choose(query.available, query.required, query.wanted, limit);
    if (chosen && chosen->size() == query.wanted) co_return std::move(*chosen);
    if (!chosen)
      log_limited(LogLevel::kWarn, name_ + "/preferred", "module cannot choose; the host does",
                  {{"resource", name_}, {"error", chosen.error().message}});
  }
  co_return preferred_ids(candidates(query.available), query.required, query.wanted, config_.placement);
}

Task<Status> Resource::pre_start(std::vector<std::string> ids, Instant deadline) {
  return context_.meter.measured(KubeletCall::kPreStart, name_, context_.clock,
                                 allocator_.pre_start(std::move(ids), deadline));
}

}  // namespace cardcage
