#include "host/serving/serving_problems.h"

#include <algorithm>
#include <map>
#include <utility>

#include "host/serving/select.h"

namespace cardcage {
namespace {

std::string describe(const ServedDevice& served) {
  return fmt::format("device '{}' of module '{}'", served.device.id, served.supervisor->config().name);
}

std::string_view module_id(const ServedDevice& served) { return served.supervisor->identity()->id; }

}  // namespace

std::vector<std::string> idle_rules(const ModuleConfig& config, const std::vector<ServedDevice>& devices) {
  std::vector<std::string> idle;
  if (devices.empty()) return idle;
  std::vector<bool> takes(config.serve.size()), matches_some(config.serve.size());
  for (const ServedDevice& served : devices) {
    bool taken = false;
    for (std::size_t i = 0; i < config.serve.size(); ++i) {
      if (!matches(config.serve[i].select, served.device)) continue;
      matches_some[i] = true;
      takes[i] = takes[i] || !std::exchange(taken, true);
    }
  }
  for (std::size_t i = 0; i < config.serve.size(); ++i) {
    if (takes[i]) continue;
    idle.push_back(matches_some[i]
                       ? fmt::format("{}: the rules before this one take every device of module '{}' that it selects",
                                     config.serve[i].position.to_string(), config.name)
                       : fmt::format("{}: select matches no device of module '{}'",
                                     config.serve[i].position.to_string(), config.name));
  }
  return idle;
}

std::vector<std::string> shared_hardware(const std::vector<const ServedDevice*>& devices) {
  std::vector<std::string> shared;
  const auto report = [&](const ServedDevice& one, const ServedDevice& other, const std::string& what) {
    shared.push_back(
        fmt::format("{} and {} are one piece of hardware ({}), which two pods may get at once: let 'select' of one of "
                    "the two modules leave it out",
                    describe(one), describe(other), what));
  };
  std::map<std::string_view, const ServedDevice*> by_address;
  std::map<std::pair<std::string_view, std::string_view>, const ServedDevice*> by_id;
  for (const ServedDevice* served : devices) {
    if (!served->offered() || !served->supervisor->identity()) continue;
    const std::string_view module = module_id(*served), address = served->device.pci_bus_id;
    const ServedDevice* const at_address =
        address.empty() ? served : by_address.try_emplace(address, served).first->second;
    const ServedDevice* const with_id = by_id.try_emplace({module, served->device.id}, served).first->second;
    if (module_id(*at_address) != module)
      report(*at_address, *served, "PCI address " + served->device.pci_bus_id);
    else if (with_id->supervisor != served->supervisor)
      report(*with_id, *served, "same device id");
  }
  return shared;
}

}  // namespace cardcage
