#include "host/serving/name_index.h"

#include "host/core/log.h"

namespace cardcage {
namespace {

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

void NameIndex::build(const std::vector<ListedModule>& modules) {
  served_.clear();
  std::map<std::string_view, const ServedDevice*> plugin_ids;
  for (const ListedModule& module : modules)
    for (const ServedDevice& served : module.devices())
      if (!served.served.name.empty()) add(served, modules, plugin_ids);
}

void NameIndex::add(const ServedDevice& served, const std::vector<ListedModule>& modules,
                    std::map<std::string_view, const ServedDevice*>& plugin_ids) {
  const auto [entry, is_new] = served_.try_emplace(served.served);
  Devices& of_name = entry->second;
  if (is_new) of_name.supervisor = first_that_serves(modules, served.served);
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

const NameIndex::Devices& NameIndex::of(const ServedName& name) const {
  static const Devices kNothing;
  const auto entry = served_.find(name);
  return entry == served_.end() ? kNothing : entry->second;
}

std::vector<const ServedDevice*> NameIndex::all_of(const ServedName& name) const {
  const Devices& devices = of(name);
  std::vector<const ServedDevice*> all;
  all.reserve(devices.names.size());
  for (const auto& [pool_and_name, device] : devices.names) all.push_back(device);
  return all;
}

}  // namespace cardcage
