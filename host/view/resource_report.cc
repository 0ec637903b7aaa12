#include "host/view/resource_report.h"

#include <algorithm>

namespace cardcage {

ResourceReport resource_report(const ResourceFacts& facts) {
  ResourceReport report{
      .name = facts.name, .module = facts.module, .socket = facts.server ? facts.server->socket : "", .way = facts.way};
  report.registration =
      registration_condition(facts.server, facts.server_error,
                             facts.module.empty() ? "it is no longer configured; its devices are being released"
                                                  : "its module has not listed a device yet");
  if (facts.server && facts.module.empty() && report.registration.text.empty())
    report.registration.text = "it is no longer configured, and goes with its last device";
  report.devices = static_cast<std::uint32_t>(facts.devices->size());
  report.healthy = static_cast<std::uint32_t>(std::ranges::count(*facts.devices, true, &ListedDevice::healthy));
  report.handed_out = static_cast<std::uint32_t>(facts.handed_out);
  return report;
}

}  // namespace cardcage
