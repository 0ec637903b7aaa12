#include "modules/nic/health/monitor.h"

#include <set>

#include "modules/nic/health/declared_causes.h"

namespace cardcage::nic {
namespace {

using cage::Health;

std::string joined(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all += (all.empty() ? "" : ", ") + text;
  return all;
}

// Returns an empty text unless the link is below the abilities of both ends.
std::string shortfall_of(const hardware::PciLink& link) {
  if (link.width && link.max_width && *link.width < *link.max_width)
    return std::to_string(*link.width) + " of " + std::to_string(*link.max_width) + " lanes are in use";
  const auto tenths = [](double speed) { return std::to_string(speed).substr(0, std::to_string(speed).find('.') + 2); };
  if (link.speed && link.max_speed && *link.speed < *link.max_speed)
    return "it runs at " + tenths(*link.speed) + " of " + tenths(*link.max_speed) + " GT/s";
  return {};
}

}  // namespace

void Monitor::look(const Inventory& found) {
  std::set<std::string> ids;
  for (const Nic& nic : found.nics) ids.insert(nic.id);
  statements_.keep(ids);
  std::erase_if(errors_, [&ids](const auto& entry) { return !ids.contains(entry.first); });
  LostCards lost;
  for (const Nic& nic : found.nics) {
    judge_interface(nic);
    judge_rdma(nic);
    if (nic.bus_id.empty()) continue;
    judge_function(nic, lost);
    judge_reporters(nic, found.reporters);
  }
}

void Monitor::judge_interface(const Nic& nic) {
  if (!nic.netdev || nic.is_away) return;
  const bool is_lost = nic.netdev->is_up && nic.netdev->carrier == false;
  statements_.state(nic.id, (is_lost ? Health::degraded("NoCarrier", "interface '" + nic.netdev->name +
                                                                         "' has no carrier; look at its cable and "
                                                                         "at the port of the switch")
                                     : Health::ok())
                                .about(cause::kLink));
}

void Monitor::judge_rdma(const Nic& nic) {
  if (nic.rdma.empty() || nic.is_away) return;
  const bool is_idle = nic.netdev && !nic.netdev->is_up;
  const auto inactive = is_idle ? std::vector<std::string>() : inactive_rdma_ports_of(nic.rdma);
  statements_.state(
      nic.id,
      (inactive.empty() ? Health::ok() : Health::degraded("PortNotActive", joined(inactive))).about(cause::kRdmaPort));
}

void Monitor::judge_function(const Nic& nic, LostCards& lost) {
  const std::string& card = card_of(nic);
  auto known = lost.find(card);
  if (known == lost.end()) known = lost.emplace(card, hardware::is_lost(node_.sysfs, card)).first;
  if (known->second) {
    statements_.state(nic.id, Health::bad("Lost", "the configuration space of " + card +
                                                      " reads as ones: the card has left the bus; reset it or "
                                                      "restart the node")
                                  .about(cause::kAccess));
    return;
  }
  statements_.state(nic.id, Health::ok().about(cause::kAccess));
  // Virtual functions have no link of their own.
  if (nic.physical.empty()) {
    const std::string shortfall = shortfall_of(hardware::link_of(node_.sysfs, nic.bus_id));
    statements_.state(
        nic.id, (shortfall.empty() ? Health::ok() : Health::degraded("SlowLink", shortfall)).about(cause::kPcieLink));
  }
  judge_errors(nic);
}

// Firmware reporters count for all functions of the card.
void Monitor::judge_reporters(const Nic& nic, const HealthReporters& reporters) {
  std::vector<std::string> firmware, others;
  bool is_watched = false;
  for (const std::string& function : std::set<std::string>{card_of(nic), nic.bus_id}) {
    const auto its = reporters.find(devlink_name_of(function));
    if (its == reporters.end()) continue;
    is_watched = true;
    for (const HealthReporter& reporter : its->second) {
      const bool is_firmware = reporter.name.starts_with("fw");
      if (!reporter.is_in_error || (!is_firmware && function != nic.bus_id)) continue;
      (is_firmware ? firmware : others)
          .push_back("reporter '" + reporter.name + "' of " + function + " is in error: devlink health show pci/" +
                     function + " reporter " + reporter.name);
    }
  }
  if (!is_watched) return;
  statements_.state(
      nic.id,
      (firmware.empty() ? Health::ok() : Health::bad("FirmwareFailed", joined(firmware))).about(cause::kFirmware));
  statements_.state(
      nic.id,
      (others.empty() ? Health::ok() : Health::degraded("ReporterInError", joined(others))).about(cause::kReporter));
}

void Monitor::judge_errors(const Nic& nic) {
  if (!has(nic.entries, "aer_dev_nonfatal")) return;
  const hardware::PciErrors now = hardware::errors_of(node_.sysfs, nic.bus_id);
  const auto [last, is_first] = errors_.try_emplace(nic.id, now);
  const hardware::PciErrors more = hardware::new_errors(last->second, now);
  const std::uint64_t fatal = more.fatal.value_or(0), nonfatal = more.nonfatal.value_or(0);
  last->second = now;
  const auto state = [&](const Health& health) { statements_.state(nic.id, health.about(cause::kPcieErrors)); };
  if (fatal > 0)
    state(Health::bad("FatalError", "fatal PCIe errors: " + std::to_string(fatal)));
  else if (nonfatal > 0)
    state(Health::degraded("NonFatalError", "PCIe errors that were not corrected: " + std::to_string(nonfatal)));
  else if (is_first)
    state(Health::ok());
}

}  // namespace cardcage::nic
