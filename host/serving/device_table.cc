#include "host/serving/device_table.h"

#include <algorithm>
#include <set>
#include <utility>

#include "host/config/resource_pattern.h"
#include "host/serving/operator_attributes.h"
#include "host/serving/select.h"
#include "host/serving/serving_problems.h"
#include "host/serving/topology.h"
#include "host/slices/slice_device.h"

namespace cardcage {
namespace {

SliceDevice published(const ServedDevice& served) {
  return slice_device(served.device, served.supervisor->health(served.device).causes, served.served.name);
}

// A module may declare many counter sets, and eight fill a slice.
void drop_unused_counters(PoolContent& pool) {
  std::set<std::string_view> used;
  for (const SliceDevice& device : pool.devices)
    for (const CounterUse& use : device.consumes) used.insert(use.set);
  std::erase_if(pool.counters, [&](const auto& set) { return !used.contains(set.first); });
}

// The kubelet looks up the health of a pod's device for allocatedResourcesStatus by its id alone, whatever the
// resource.
void warn_of_same_id(const ServedDevice& first, const ServedDevice& second) {
  const std::string &resource = second.served.name, &other = first.served.name;
  if (resource == other) return;
  log_limited(LogLevel::kWarn, resource + "/same-id",
              "two resources list the same device id: pod status will mix up their health",
              {{"device", second.device.id}, {"resource", resource}, {"other_resource", other}});
}

void refuse_name(const ServedDevice& served, const Supervisor& other) {
  const std::string& module = served.supervisor->config().name;
  log_limited(LogLevel::kError, module + "/same-name",
              "device is not served: another module offers the same name in this pool; give one of them another "
              "driver or pool",
              {{"module", module},
               {"device", served.device.name},
               {"driver", served.served.name},
               {"other_module", other.config().name}});
}

void refuse_resource(const ServedDevice& served, const Supervisor& other) {
  const std::string& module = served.supervisor->config().name;
  log_limited(LogLevel::kError, module + "/same-resource",
              "device is not served: another module serves the resource; give one of them another name",
              {{"module", module},
               {"device", served.device.name},
               {"resource", served.served.name},
               {"other_module", other.config().name}});
}

}  // namespace

HeldDevice held_device(const ServedDevice& served) {
  return {.allocation = {.driver = served.served.name, .pool = served.pool, .device = served.device.name},
          .device_id = served.device.id};
}

void DeviceTable::arrange(const std::vector<const Supervisor*>& modules,
                          const std::map<std::string, std::set<std::string>>& held) {
  std::vector<Entry> before = std::exchange(modules_, {});
  const auto add = [&](const Supervisor* supervisor) {
    const auto known = std::ranges::find(before, supervisor, &Entry::supervisor);
    if (known != before.end()) {
      modules_.push_back(std::move(*known));
      return take_snapshot(modules_.back());  // its rules may have changed
    }
    Entry& entry = modules_.emplace_back(Entry{supervisor, nullptr, {}, {}, {}});
    if (const auto names = held.find(supervisor->config().name); names != held.end()) expect(names->second, entry);
    take_snapshot(entry);
  };
  for (const Supervisor* supervisor : modules)
    if (supervisor->draining().empty()) add(supervisor);
  for (const Supervisor* supervisor : modules)
    if (!supervisor->draining().empty()) add(supervisor);
  index();
  tell_waiting();
}

void DeviceTable::refresh(const Supervisor& supervisor) {
  const auto entry = std::ranges::find(modules_, &supervisor, &Entry::supervisor);
  if (entry == modules_.end()) return;
  tell_waiting();
  if (entry->snapshot == supervisor.snapshot()) return;
  take_snapshot(*entry);
  index();
}

void DeviceTable::tell_waiting() {
  std::erase_if(waiting_, [](const auto& waiter) {
    const bool done = waiter.first();
    if (done) waiter.second.set(true);
    return done;
  });
}

void DeviceTable::take_snapshot(Entry& entry) const {
  entry.snapshot = entry.supervisor->snapshot();
  entry.devices.clear();
  Topology topology(sysfs_, numa_);
  if (entry.snapshot) {
    entry.devices.reserve(entry.snapshot->devices.size());
    for (const Device& device : entry.snapshot->devices) {
      ServedDevice& served = entry.devices.emplace_back(ServedDevice{entry.supervisor, device, {}, ""});
      topology.add_to(served.device);
      add_operator_attributes(entry.supervisor->config().attributes, served.device);
    }
  }
  apply_rules(entry);
}

void DeviceTable::apply_rules(Entry& entry) const {
  const auto& rules = entry.supervisor->config().serve;
  for (Entry::Names* names : {&entry.given, &entry.expected})
    std::erase_if(*names, [&](const auto& known) {
      return std::ranges::find(rules, known.first, &ServeConfig::resource) == rules.end();
    });
  for (ServedDevice& served : entry.devices) {
    const auto rule = std::ranges::find_if(
        rules, [&](const ServeConfig& candidate) { return matches(candidate.select, served.device); });
    served.served = rule == rules.end() ? ServedName{} : name_from(*rule, served.device, entry);
    served.pool = rule == rules.end() ? "" : pool_of(*rule);
  }
  for (const auto& [pattern, names] : entry.given)
    for (auto& [other, expected] : entry.expected)
      std::erase_if(expected, [&](const std::string& name) { return names.contains(name); });
}

ServedName DeviceTable::name_from(const ServeConfig& rule, const Device& device, Entry& entry) {
  if (!has_attributes(rule.resource)) return rule.served();
  std::set<std::string>& given = entry.given[rule.resource];
  auto name = resource_name(rule.resource, device);
  if (name && given.size() >= kMaxNames && !given.contains(*name))
    name = fail(Code::kResourceExhausted, "'{}' would be one name more than the {} that a rule may give", *name,
                kMaxNames);
  if (name) {
    given.insert(*name);
    return {Api::kDevicePlugin, *std::move(name)};
  }
  log_limited(LogLevel::kWarn, entry.supervisor->config().name + "/no-name",
              "device is not served: its rule gives it no resource name",
              {{"module", entry.supervisor->config().name},
               {"device", device.id},
               {"resource", rule.resource},
               {"error", name.error().message}});
  return {};
}

// Guesses the rule that gave each name, which only the name's device could tell: the rule with the longest literal
// text.
void DeviceTable::expect(const std::set<std::string>& names, Entry& entry) {
  for (const std::string& name : names) {
    const ServeConfig* likely = nullptr;
    for (const ServeConfig& rule : entry.supervisor->config().serve)
      if (can_give(rule.resource, name) &&
          (likely == nullptr || literal_size(rule.resource) > literal_size(likely->resource)))
        likely = &rule;
    if (likely != nullptr && has_attributes(likely->resource)) entry.expected[likely->resource].insert(name);
  }
}

void DeviceTable::index() {
  served_.clear();
  std::map<std::string_view, const ServedDevice*> plugin_ids;
  for (const Entry& entry : modules_)
    for (const ServedDevice& served : entry.devices)
      if (!served.served.name.empty()) index(served, plugin_ids);
  find_problems();
}

void DeviceTable::find_problems() {
  std::vector<std::string> found;
  for (const Entry& entry : modules_)
    if (entry.supervisor->draining().empty())
      std::ranges::move(idle_rules(entry.supervisor->config(), entry.devices), std::back_inserter(found));
  std::ranges::move(shared_hardware(devices()), std::back_inserter(found));
  for (const std::string& problem : found)
    if (std::ranges::find(problems_, problem) == problems_.end()) log(LogLevel::kWarn, problem);
  problems_ = std::move(found);
}

void DeviceTable::index(const ServedDevice& served, std::map<std::string_view, const ServedDevice*>& plugin_ids) {
  const auto [entry, is_new] = served_.try_emplace(served.served);
  Index& of_name = entry->second;
  if (is_new) of_name.supervisor = supervisor(served.served);
  if (served.served.is_resource() && served.offered()) {
    // The keys of its rule and the features of its module apply to the whole resource.
    if (of_name.supervisor != served.supervisor) return refuse_resource(served, *of_name.supervisor);
    warn_of_same_id(*plugin_ids.try_emplace(served.device.id, &served).first->second, served);
  }
  const auto [there, added] = of_name.names.try_emplace({served.pool, served.device.name}, &served);
  if (added)
    of_name.ids.try_emplace(served.device.id, &served);
  else if (served.offered())
    refuse_name(served, *there->second->supervisor);
}

std::vector<const ServedDevice*> DeviceTable::devices() const {
  std::vector<const ServedDevice*> all;
  for (const Entry& entry : modules_) {
    for (const ServedDevice& served : entry.devices) all.push_back(&served);
  }
  return all;
}

std::vector<const ServedDevice*> DeviceTable::devices(const ServedName& name) const {
  auto its = all_of(name);
  std::erase_if(its, [](const ServedDevice* one) { return !one->offered(); });
  return its;
}

const DeviceTable::Index& DeviceTable::index_of(const ServedName& name) const {
  static const Index kNothing;
  const auto entry = served_.find(name);
  return entry == served_.end() ? kNothing : entry->second;
}

std::vector<const ServedDevice*> DeviceTable::all_of(const ServedName& name) const {
  std::vector<const ServedDevice*> its;
  its.reserve(index_of(name).names.size());
  for (const auto& [pool_and_name, device] : index_of(name).names) its.push_back(device);
  return its;
}

const ServedDevice* DeviceTable::find_id(const ServedName& name, std::string_view device_id) const {
  const auto& ids = index_of(name).ids;
  const auto entry = ids.find(device_id);
  return entry == ids.end() ? nullptr : entry->second;
}

const ServedDevice* DeviceTable::find(const std::string& module, std::string_view device_id) const {
  const auto entry =
      std::ranges::find_if(modules_, [&](const Entry& one) { return one.supervisor->config().name == module; });
  if (entry == modules_.end()) return nullptr;
  const auto id_of = [](const ServedDevice& served) -> std::string_view { return served.device.id; };
  const auto found = std::ranges::lower_bound(entry->devices, device_id, {}, id_of);
  return found == entry->devices.end() || found->device.id != device_id ? nullptr : &*found;
}

const Supervisor* DeviceTable::supervisor(const ServedName& name) const {
  const auto entry = std::ranges::find_if(modules_, [&](const Entry& one) { return serves(one, name); });
  return entry == modules_.end() ? nullptr : entry->supervisor;
}

SlicePublisher::Pools DeviceTable::pools(const ServedName& name) const {
  std::map<std::string, PoolContent> pools;
  for (const Entry& entry : modules_) {
    if (!offers(entry, name)) continue;
    for (const ServeConfig& rule : entry.supervisor->config().serve) {
      if (rule.served() != name) continue;
      PoolContent& pool = pools[pool_of(rule)];
      if (entry.snapshot)
        pool.counters.insert(entry.snapshot->counter_sets.begin(), entry.snapshot->counter_sets.end());
    }
  }
  for (const ServedDevice* one : devices(name)) {
    PoolContent& pool = pools[one->pool];
    pool.no_prepare = one->supervisor->identity()->no_prepare && (pool.devices.empty() || pool.no_prepare);
    pool.devices.push_back(published(*one));
  }
  for (auto& [pool, content] : pools) drop_unused_counters(content);
  SlicePublisher::Pools wanted;
  for (auto& [pool, content] : pools) wanted[pool] = std::make_shared<const PoolContent>(std::move(content));
  return wanted;
}

HealthList DeviceTable::health(const ServedName& name) const {
  const auto its = all_of(name);
  HealthList list;
  list.reserve(its.size());
  for (const ServedDevice* one : its) {
    list.push_back(health_report(one->pool, one->device.name, one->supervisor->health(one->device)));
  }
  return list;
}

bool DeviceTable::gives(const Entry& entry, const ServeConfig& rule, const ServedName& name) {
  if (!has_attributes(rule.resource)) return rule.served() == name;
  const auto has = [&](const Entry::Names& names) {
    const auto its = names.find(rule.resource);
    return its != names.end() && its->second.contains(name.name);
  };
  return name.is_resource() && (has(entry.given) || has(entry.expected));
}

bool DeviceTable::serves(const Entry& entry, const ServedName& name) {
  return std::ranges::any_of(entry.supervisor->config().serve,
                             [&](const ServeConfig& rule) { return gives(entry, rule, name); });
}

std::set<std::string> DeviceTable::names(const std::string& module, const ServeConfig& rule) const {
  if (!has_attributes(rule.resource)) return {rule.served().name};
  const auto entry =
      std::ranges::find_if(modules_, [&](const Entry& one) { return one.supervisor->wanted().name == module; });
  if (entry == modules_.end()) return {};
  std::set<std::string> names;
  for (const Entry::Names* known : {&entry->given, &entry->expected})
    if (const auto its = known->find(rule.resource); its != known->end())
      names.insert(its->second.begin(), its->second.end());
  return names;
}

bool DeviceTable::offers(const Entry& entry, const ServedName& name) {
  return entry.supervisor->draining().empty() && serves(entry, name);
}

bool DeviceTable::complete(const ServedName& name) const {
  // A name that is no longer configured may have claims of any module.
  const bool configured = supervisor(name) != nullptr;
  return std::ranges::all_of(modules_, [&](const Entry& entry) {
    return (configured && !serves(entry, name)) || entry.supervisor->settled();
  });
}

bool DeviceTable::known(const ServedName& name) const {
  return std::ranges::any_of(modules_, [&](const Entry& entry) { return entry.snapshot && offers(entry, name); });
}

Result<LocatedDevice> DeviceTable::locate(const std::string& driver, const std::string& pool,
                                          const std::string& device) const {
  const auto& names = index_of(served_name_from_stored(driver)).names;
  if (const auto exact = names.find({pool, device}); exact != names.end()) return located(*exact->second);
  const auto of_any_pool =
      std::ranges::find_if(names, [&](const auto& entry) { return pool.empty() && entry.first.second == device; });
  if (of_any_pool != names.end()) return located(*of_any_pool->second);
  for (const Entry& entry : modules_)
    if (!entry.snapshot && serves(entry, served_name_from_stored(driver)))
      return fail(Code::kNotFound, "it is not known: module '{}' does not run; see 'cagectl modules'",
                  entry.supervisor->config().name);
  return fail(Code::kNotFound,
              "it is not on this node: driver '{}' lists {} devices here; 'cagectl devices' shows them", driver,
              names.size());
}

Result<LocatedDevice> DeviceTable::locate_id(const std::string& resource, const std::string& device_id) const {
  if (const ServedDevice* served = find_id({Api::kDevicePlugin, resource}, device_id)) return located(*served);
  return fail(Code::kNotFound, "it is no longer on this node; the controller of the pod has to create a new pod");
}

LocatedDevice DeviceTable::located(const ServedDevice& served) {
  return {served.supervisor->config().name, served.device, served.supervisor->draining(),
          served.supervisor->why_withheld(served.device)};
}

const Supervisor* DeviceTable::supervisor_of(const std::string& module) const {
  const auto entry =
      std::ranges::find_if(modules_, [&](const Entry& one) { return one.supervisor->config().name == module; });
  return entry == modules_.end() ? nullptr : entry->supervisor;
}

static std::unexpected<Error> not_configured(const std::string& name) {
  return fail(Code::kNotFound,
              "module '{}' is no longer in the configuration; add it back so that its claims can be released", name);
}

Result<std::shared_ptr<Module>> DeviceTable::module(const std::string& name) const {
  if (const Supervisor* supervisor = supervisor_of(name)) return supervisor->module();
  return not_configured(name);
}

Result<std::shared_ptr<Module>> DeviceTable::module_for_release(const std::string& name) const {
  if (const Supervisor* supervisor = supervisor_of(name)) return supervisor->module_for_release();
  return not_configured(name);
}

SnapshotPtr DeviceTable::snapshot(const std::string& module) const {
  const Supervisor* const supervisor = supervisor_of(module);
  return supervisor ? supervisor->snapshot() : nullptr;
}

Task<void> DeviceTable::started(std::string driver, Instant deadline) const {
  const ServedName name = served_name_from_stored(std::move(driver));
  return wait_until([this, name] { return complete(name); }, deadline);
}

Task<void> DeviceTable::returned(std::string module, Instant deadline) const {
  const auto done = [this, module = std::move(module), deadline] {
    const Supervisor* const supervisor = supervisor_of(module);
    return !supervisor || !supervisor->returns_by(deadline);
  };
  return wait_until(done, deadline);
}

Task<void> DeviceTable::wait_until(std::function<bool()> done, Instant deadline) const {
  if (done()) co_return;
  const OneShot<bool> reached(core_);
  waiting_.emplace_back(std::move(done), reached);
  co_await reached.wait_until(clock_, deadline);
}

}  // namespace cardcage
