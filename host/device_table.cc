#include "host/device_table.h"

#include <algorithm>
#include <tuple>

#include "host/apiserver/slice_device.h"
#include "host/cdi/names.h"
#include "host/device/select.h"
#include "host/device/topology.h"

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

void DeviceTable::refresh(const Supervisor& supervisor) {
  const auto entry = std::ranges::find(modules_, &supervisor, &Entry::supervisor);
  if (entry == modules_.end()) return;
  std::erase_if(waiting_, [this](const auto& waiter) {
    const bool over = complete(waiter.first);
    if (over) waiter.second.set(true);
    return over;
  });
  if (entry->snapshot == supervisor.snapshot()) return;
  entry->snapshot = supervisor.snapshot();
  entry->devices.clear();
  for (const Device& device : entry->snapshot->devices) entry->devices.push_back(serve(supervisor, device));
  index();
}

ServedDevice DeviceTable::serve(const Supervisor& supervisor, const Device& device) const {
  ServedDevice served{&supervisor, device, nullptr, "", ""};
  add_topology(sysfs_, served.device);
  for (const ServeConfig& rule : supervisor.config().serve) {
    if (!matches(rule.select, served.device)) continue;
    served.rule = &rule;
    served.driver = rule.name();
    served.pool = pool_of(rule);
    break;
  }
  return served;
}

void DeviceTable::index() {
  served_.clear();
  ids_.clear();
  std::map<std::string_view, const ServedDevice*> plugin_ids;
  for (Entry& entry : modules_) {
    for (ServedDevice& served : entry.devices) {
      if (served.driver.empty()) continue;
      if (is_resource(served.driver))
        warn_of_twins(*plugin_ids.try_emplace(served.device.id, &served).first->second, served);
      const auto [there, added] = served_.try_emplace({served.driver, served.pool, served.device.name}, &served);
      if (added) {
        ids_.try_emplace({served.driver, served.device.id}, &served);
        continue;
      }
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
  const auto entry = std::ranges::find_if(modules_, [&](const Entry& one) { return serves(one, driver); });
  return entry == modules_.end() ? nullptr : entry->supervisor;
}

SlicePublisher::Pools DeviceTable::pools(const std::string& driver) const {
  std::map<std::string, PoolContent> pools;
  for (const Entry& entry : modules_) {
    for (const ServeConfig& rule : entry.supervisor->config().serve) {
      if (rule.driver != driver) continue;
      PoolContent& pool = pools[pool_of(rule)];
      if (entry.snapshot)
        pool.counters.insert(entry.snapshot->counter_sets.begin(), entry.snapshot->counter_sets.end());
    }
  }
  for (const ServedDevice* served : devices(driver)) pools[served->pool].devices.push_back(published(*served));
  SlicePublisher::Pools wanted;
  for (auto& [name, content] : pools) wanted[name] = std::make_shared<const PoolContent>(std::move(content));
  return wanted;
}

HealthList DeviceTable::health(const std::string& driver) const {
  HealthList list;
  for (const ServedDevice* served : devices(driver)) {
    DeviceHealth known = served->supervisor->health(served->device);
    list.push_back({served->pool, served->device.name, std::move(known.health), known.changed});
  }
  return list;
}

bool DeviceTable::serves(const Entry& entry, const std::string& driver) {
  return std::ranges::any_of(entry.supervisor->config().serve,
                             [&](const ServeConfig& rule) { return rule.name() == driver; });
}

bool DeviceTable::complete(const std::string& driver) const {
  // One that is not configured any more may have claims of any module.
  const bool configured = supervisor(driver) != nullptr;
  return std::ranges::all_of(modules_, [&](const Entry& entry) {
    return (configured && !serves(entry, driver)) || entry.supervisor->settled();
  });
}

bool DeviceTable::known(const std::string& driver) const {
  return std::ranges::any_of(modules_, [&](const Entry& entry) { return entry.snapshot && serves(entry, driver); });
}

Result<LocatedDevice> DeviceTable::locate(const std::string& driver, const std::string& pool,
                                          const std::string& device) const {
  if (const auto exact = served_.find({driver, pool, device}); exact != served_.end()) return located(*exact->second);
  const auto its = devices(driver);
  const auto of_any_pool = std::ranges::find_if(
      its, [&](const ServedDevice* served) { return pool.empty() && served->device.name == device; });
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
  return LocatedDevice{*module, served.supervisor->config().name, served.device};
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
