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
  std::map<std::string, const ServedDevice*> by_address;
  std::map<std::pair<std::string, std::string>, const ServedDevice*> by_id;
  for (const ServedDevice* served : devices) {
    if (!served->offered()) continue;
    const auto note = [&](auto& known, auto key, const std::string& what) {
      const ServedDevice* const other = known.try_emplace(std::move(key), served).first->second;
      const bool is_shared = other->supervisor != served->supervisor;
      if (is_shared)
        shared.push_back(fmt::format(
            "{} and {} are one piece of hardware ({}), which two pods may get at once: let 'select' of one of the two "
            "modules leave it out",
            describe(*other), describe(*served), what));
      return is_shared;
    };
    const std::string& address = served->device.pci_bus_id;
    const bool same_address = !address.empty() && note(by_address, address, "PCI address " + address);
    if (!same_address && served->supervisor->identity())
      note(by_id, std::pair(served->supervisor->identity()->id, served->device.id), "same device id");
  }
  return shared;
}

}  // namespace cardcage
