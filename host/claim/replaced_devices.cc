#include "host/claim/replaced_devices.h"

#include "host/claim/claim_plan.h"

namespace cardcage {

std::optional<std::string> find_replaced(std::span<const ModulePart> before, std::span<const ModulePart> plan) {
  for (const ModulePart& earlier : before)
    for (const HeldDevice& held : earlier.devices)
      for (const ModulePart& part : plan)
        for (const HeldDevice& planned : part.devices)
          if (held.device_id != planned.device_id && same_devices({held.allocation}, {planned.allocation}))
            return fmt::format(
                "it has device '{}', whose name '{}' is that of device '{}' now; delete its pod to release it",
                held.device_id, planned.allocation.device, planned.device_id);
  return std::nullopt;
}

}  // namespace cardcage
