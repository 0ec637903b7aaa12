#include "host/serving/device_table.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "host/config/resource_pattern.h"
#include "host/core/log.h"
#include "host/serving/serving_problems.h"
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

LocatedDevice located(const ServedDevice& served) {
  return {served.supervisor->config().name, served.device, served.supervisor->draining(),
          served.supervisor->why_withheld(served.device)};
}

std::unexpected<Error> not_configured(const std::string& name) {
  return fail(Code::kNotFound,
              "module '{}' is no longer in the configuration; add it back so that its claims can be released", name);
}

}  // namespace

void DeviceTable::arrange(const std::vector<const Supervisor*>& modules,
                          const std::map<std::string, std::set<std::string>>& held) {
  std::vector<ListedModule> before = std::exchange(modules_, {});
  const auto add = [&](const Supervisor& supervisor) {
    const auto known =
        std::ranges::find(before, &supervisor, [](const ListedModule& one) { return &one.supervisor(); });
    if (known != before.end()) {
      modules_.push_back(std::move(*known));
    } else {
      const auto names = held.find(supervisor.config().name);
      modules_.emplace_back(supervisor, names == held.end() ? std::set<std::string>() : names->second);
    }
    modules_.back().update(node_);  // the rules of a known module may have changed
  };
  for (const bool drains : {false, true})
    for (const Supervisor* supervisor : modules)
      if (supervisor->draining().empty() != drains) add(*supervisor);
  index();
  end_waits();
}

void DeviceTable::refresh(const Supervisor& supervisor) {
  const auto module =
      std::ranges::find(modules_, &supervisor, [](const ListedModule& one) { return &one.supervisor(); });
  if (module == modules_.end()) return;
  end_waits();
  if (module->snapshot() == supervisor.snapshot()) return;
  module->update(node_);
  index();
}

void DeviceTable::end_waits() {
  std::erase_if(waiting_, [](const auto& waiter) {
    const bool done = waiter.first();
    if (done) waiter.second.set(true);
    return done;
  });
}

void DeviceTable::index() {
  index_.build(modules_);
  std::vector<std::string> found;
  for (const ListedModule& module : modules_)
    if (module.supervisor().draining().empty())
      std::ranges::move(idle_rules(module.supervisor().config(), module.devices()), std::back_inserter(found));
  std::ranges::move(shared_hardware(devices()), std::back_inserter(found));
  for (const std::string& problem : found)
    if (std::ranges::find(problems_, problem) == problems_.end()) log(LogLevel::kWarn, problem);
  problems_ = std::move(found);
}

std::vector<const ServedDevice*> DeviceTable::devices() const {
  std::vector<const ServedDevice*> all;
  for (const ListedModule& module : modules_)
    for (const ServedDevice& served : module.devices()) all.push_back(&served);
  return all;
}

std::vector<const ServedDevice*> DeviceTable::devices(const ServedName& name) const {
  auto its = index_.all_of(name);
  std::erase_if(its, [](const ServedDevice* one) { return !one->offered(); });
  return its;
}

const ServedDevice* DeviceTable::find_id(const ServedName& name, std::string_view device_id) const {
  const auto& ids = index_.of(name).ids;
  const auto entry = ids.find(device_id);
  return entry == ids.end() ? nullptr : entry->second;
}

const ServedDevice* DeviceTable::find(const std::string& module, std::string_view device_id) const {
  const ListedModule* const listed = find_module(module);
  return listed ? listed->find(device_id) : nullptr;
}

const ListedModule* DeviceTable::find_module(const std::string& name) const {
  const auto module = std::ranges::find(modules_, name, &ListedModule::name);
  return module == modules_.end() ? nullptr : &*module;
}

std::set<std::string> DeviceTable::names(const std::string& module, const ServeConfig& rule) const {
  if (!has_attributes(rule.resource)) return {rule.served().name};
  const auto wanted_name = [](const ListedModule& one) { return one.supervisor().wanted().name; };
  const auto listed = std::ranges::find(modules_, module, wanted_name);
  return listed == modules_.end() ? std::set<std::string>() : listed->names(rule);
}

SlicePublisher::Pools DeviceTable::pools(const ServedName& name) const {
  std::map<std::string, PoolContent> pools;
  for (const ListedModule& module : modules_) {
    if (!module.offers(name)) continue;
    for (const ServeConfig& rule : module.supervisor().config().serve) {
      if (rule.served() != name) continue;
      PoolContent& pool = pools[pool_of(rule, node_.name)];
      if (const SnapshotPtr& snapshot = module.snapshot())
        pool.counters.insert(snapshot->counter_sets.begin(), snapshot->counter_sets.end());
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
  const auto its = index_.all_of(name);
  HealthList list;
  list.reserve(its.size());
  for (const ServedDevice* one : its) {
    list.push_back(health_report(one->pool, one->device.name, one->supervisor->health(one->device)));
  }
  return list;
}

bool DeviceTable::complete(const ServedName& name) const {
  // A name that is no longer configured may have claims of any module.
  const bool configured = supervisor(name) != nullptr;
  return std::ranges::all_of(modules_, [&](const ListedModule& module) {
    return (configured && !module.serves(name)) || module.supervisor().settled();
  });
}

bool DeviceTable::known(const ServedName& name) const {
  return std::ranges::any_of(modules_,
                             [&](const ListedModule& module) { return module.snapshot() && module.offers(name); });
}

Result<LocatedDevice> DeviceTable::locate(const std::string& driver, const std::string& pool,
                                          const std::string& device) const {
  const ServedName name = served_name_from_stored(driver);
  const auto& names = index_.of(name).names;
  if (const auto exact = names.find({pool, device}); exact != names.end()) return located(*exact->second);
  const auto of_any_pool =
      std::ranges::find_if(names, [&](const auto& entry) { return pool.empty() && entry.first.second == device; });
  if (of_any_pool != names.end()) return located(*of_any_pool->second);
  for (const ListedModule& module : modules_)
    if (!module.snapshot() && module.serves(name))
      return fail(Code::kNotFound, "it is not known: module '{}' does not run; see 'cagectl modules'", module.name());
  return fail(Code::kNotFound,
              "it is not on this node: driver '{}' lists {} devices here; 'cagectl devices' shows them", driver,
              names.size());
}

Result<LocatedDevice> DeviceTable::locate_id(const std::string& resource, const std::string& device_id) const {
  if (const ServedDevice* served = find_id({Api::kDevicePlugin, resource}, device_id)) return located(*served);
  return fail(Code::kNotFound, "it is no longer on this node; the controller of the pod has to create a new pod");
}

const Supervisor* DeviceTable::supervisor_of(const std::string& module) const {
  const ListedModule* const listed = find_module(module);
  return listed ? &listed->supervisor() : nullptr;
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
