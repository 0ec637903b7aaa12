#include "host/serving/device_table.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "host/cdi/names.h"
#include "host/serving/select.h"
#include "host/serving/topology.h"
#include "host/slices/slice_device.h"

namespace cardcage {

namespace {

// With the health as of now.
SliceDevice published(const ServedDevice& served) {
  Device device = served.device;
  device.health = served.supervisor->health(served.device).health;
  return slice_device(device, served.driver);
}

// The kubelet looks the health of a pod's device up by its id alone, whatever the resource (allocatedResourcesStatus).
void warn_of_twins(const ServedDevice& first, const ServedDevice& second) {
  if (first.driver == second.driver) return;
  log_limited(LogLevel::kWarn, second.driver + "/same-id",
              "two resources list the same device id: pod status will mix their health up",
              {{"device", second.device.id}, {"resource", second.driver}, {"other_resource", first.driver}});
}

}  // namespace

void DeviceTable::arrange(const std::vector<const Supervisor*>& modules) {
  std::vector<Entry> before = std::exchange(modules_, {});
  const auto add = [&](const Supervisor* supervisor) {
    const auto known = std::ranges::find(before, supervisor, &Entry::supervisor);
    if (known != before.end())
      modules_.push_back(std::move(*known));
    else
      take_snapshot(modules_.emplace_back(Entry{supervisor, nullptr, {}}));
  };
  for (const Supervisor* supervisor : modules)
    if (supervisor->draining().empty()) add(supervisor);
  for (const Supervisor* supervisor : modules)
    if (!supervisor->draining().empty()) add(supervisor);
  for (Entry& entry : modules_)
    for (ServedDevice& served : entry.devices) assign(served);
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
  std::erase_if(waiting_, [this](const auto& waiter) {
    const bool over = complete(waiter.first);
    if (over) waiter.second.set(true);
    return over;
  });
}

void DeviceTable::take_snapshot(Entry& entry) const {
  entry.snapshot = entry.supervisor->snapshot();
  entry.devices.clear();
  if (!entry.snapshot) return;
  for (const Device& device : entry.snapshot->devices) {
    ServedDevice& served = entry.devices.emplace_back(ServedDevice{entry.supervisor, device, "", ""});
    add_topology(sysfs_, served.device);
    assign(served);
  }
}

void DeviceTable::assign(ServedDevice& served) const {
  const auto& rules = served.supervisor->config().serve;
  const auto rule = std::ranges::find_if(
      rules, [&](const ServeConfig& candidate) { return matches(candidate.select, served.device); });
  served.driver = rule == rules.end() ? "" : rule->name();
  served.pool = rule == rules.end() ? "" : pool_of(*rule);
}

void DeviceTable::index() {
  served_.clear();
  ids_.clear();
  std::map<std::string_view, const ServedDevice*> plugin_ids;
  for (Entry& entry : modules_) {
    for (ServedDevice& served : entry.devices) {
      if (served.driver.empty()) continue;
      if (is_resource(served.driver) && served.offered())
        warn_of_twins(*plugin_ids.try_emplace(served.device.id, &served).first->second, served);
      const auto [there, added] = served_.try_emplace({served.driver, served.pool, served.device.name}, &served);
      if (added) {
        ids_.try_emplace({served.driver, served.device.id}, &served);
        continue;
      }
      if (!served.offered()) continue;
      log_limited(LogLevel::kError, entry.supervisor->config().name + "/same-name",
                  "device is not served: another module offers the same name in this pool; give one of them another "
                  "driver or pool",
                  {{"module", entry.supervisor->config().name},
                   {"device", served.device.name},
                   {"driver", served.driver},
                   {"other_module", there->second->supervisor->config().name}});
    }
  }
}

std::vector<const ServedDevice*> DeviceTable::devices() const {
  std::vector<const ServedDevice*> all;
  for (const Entry& entry : modules_) {
    for (const ServedDevice& served : entry.devices) all.push_back(&served);
  }
  return all;
}

std::vector<const ServedDevice*> DeviceTable::devices(const std::string& driver) const {
  auto its = served(driver);
  std::erase_if(its, [](const ServedDevice* one) { return !one->offered(); });
  return its;
}

std::vector<const ServedDevice*> DeviceTable::served(const std::string& driver) const {
  std::vector<const ServedDevice*> its;
  for (auto entry = served_.lower_bound({driver, "", ""});
       entry != served_.end() && std::get<0>(entry->first) == driver; ++entry)
    its.push_back(entry->second);
  return its;
}

const ServedDevice* DeviceTable::find_id(const std::string& resource, const std::string& device_id) const {
  const auto entry = ids_.find({resource, device_id});
  return entry == ids_.end() ? nullptr : entry->second;
}

const Supervisor* DeviceTable::supervisor(const std::string& driver) const {
  // One that drains comes last.
  const auto entry = std::ranges::find_if(modules_, [&](const Entry& one) { return serves(one, driver); });
  return entry == modules_.end() ? nullptr : entry->supervisor;
}

SlicePublisher::Pools DeviceTable::pools(const std::string& driver) const {
  std::map<std::string, PoolContent> pools;
  for (const Entry& entry : modules_) {
    if (!offers(entry, driver)) continue;
    for (const ServeConfig& rule : entry.supervisor->config().serve) {
      if (rule.driver != driver) continue;
      PoolContent& pool = pools[pool_of(rule)];
      if (entry.snapshot)
        pool.counters.insert(entry.snapshot->counter_sets.begin(), entry.snapshot->counter_sets.end());
    }
  }
  for (const ServedDevice* one : devices(driver)) pools[one->pool].devices.push_back(published(*one));
  SlicePublisher::Pools wanted;
  for (auto& [name, content] : pools) wanted[name] = std::make_shared<const PoolContent>(std::move(content));
  return wanted;
}

HealthList DeviceTable::health(const std::string& driver) const {
  HealthList list;
  for (const ServedDevice* one : served(driver)) {
    DeviceHealth known = one->supervisor->health(one->device);
    list.push_back({one->pool, one->device.name, std::move(known.health), known.changed});
  }
  return list;
}

bool DeviceTable::serves(const Entry& entry, const std::string& driver) {
  return std::ranges::any_of(entry.supervisor->config().serve,
                             [&](const ServeConfig& rule) { return rule.name() == driver; });
}

bool DeviceTable::offers(const Entry& entry, const std::string& driver) {
  return entry.supervisor->draining().empty() && serves(entry, driver);
}

bool DeviceTable::complete(const std::string& driver) const {
  // One that is not configured any more may have claims of any module.
  const bool configured = supervisor(driver) != nullptr;
  return std::ranges::all_of(modules_, [&](const Entry& entry) {
    return (configured && !serves(entry, driver)) || entry.supervisor->settled();
  });
}

bool DeviceTable::known(const std::string& driver) const {
  return std::ranges::any_of(modules_, [&](const Entry& entry) { return entry.snapshot && offers(entry, driver); });
}

Result<LocatedDevice> DeviceTable::locate(const std::string& driver, const std::string& pool,
                                          const std::string& device) const {
  if (const auto exact = served_.find({driver, pool, device}); exact != served_.end()) return located(*exact->second);
  const auto its = served(driver);
  const auto of_any_pool =
      std::ranges::find_if(its, [&](const ServedDevice* one) { return pool.empty() && one->device.name == device; });
  if (of_any_pool != its.end()) return located(**of_any_pool);
  return fail(Code::kNotFound,
              "device '{}' of pool '{}' is not on this node: driver '{}' lists {} devices here; `cagectl devices` "
              "shows them",
              device, pool, driver, its.size());
}

Result<LocatedDevice> DeviceTable::locate_id(const std::string& resource, const std::string& device_id) const {
  if (const ServedDevice* served = find_id(resource, device_id)) return located(*served);
  return fail(Code::kNotFound, "it is not on this node any more; the controller of the pod has to make a new one");
}

Result<LocatedDevice> DeviceTable::located(const ServedDevice& served) {
  auto module = served.supervisor->module();
  if (!module) return std::unexpected(module.error());
  return LocatedDevice{*module, served.supervisor->config().name, served.device, served.supervisor->draining()};
}

Result<std::shared_ptr<Module>> DeviceTable::module(const std::string& name) const {
  for (const Entry& entry : modules_) {
    if (entry.supervisor->config().name == name) return entry.supervisor->module();
  }
  return fail(Code::kNotFound, "module '{}' is not in the configuration any more; add it back to let go of its claims",
              name);
}

Task<void> DeviceTable::started(std::string driver, Instant deadline) const {
  if (complete(driver)) co_return;
  const OneShot<bool> over(core_);
  waiting_.emplace_back(driver, over);
  SystemClock clock;
  co_await over.wait_until(clock, deadline);
}

}  // namespace cardcage
