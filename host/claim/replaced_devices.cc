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
                "it holds device '{}', whose name '{}' now belongs to device '{}'; delete its pod to release the claim",
                held.device_id, planned.allocation.device, planned.device_id);
  return std::nullopt;
}

}  // namespace cardcage
