#include "host/claim/replaced_devices.h"

#include "host/claim/claim_plan.h"

namespace cardcage {

std::optional<Replaced> find_replaced(std::span<const ModulePart> before, std::span<const ModulePart> plan) {
  for (const ModulePart& earlier : before)
    for (const HeldDevice& held : earlier.devices)
      for (const ModulePart& part : plan)
        for (const HeldDevice& planned : part.devices)
          if (held.device_id != planned.device_id && same_devices({held.allocation}, {planned.allocation}))
            return Replaced{&held, &planned};
  return std::nullopt;
}

std::string to_string(const Replaced& replaced) {
  return fmt::format("it has device '{}', whose name '{}' is that of device '{}' now; delete its pod to release it",
                     replaced.before->device_id, replaced.now->allocation.device, replaced.now->device_id);
}

}  // namespace cardcage
