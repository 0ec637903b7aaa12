#include "modules/nvidia/capabilities.h"

#include <array>
#include <cardcage/sdk.hpp>
#include <string>

namespace cardcage::nvidia {
namespace {

struct CapabilityName {
  std::string_view name;
  Capability capability;
};
constexpr std::array kCapabilityNames{
    CapabilityName{"compute", Capability::compute}, CapabilityName{"utility", Capability::utility},
    CapabilityName{"video", Capability::video},     CapabilityName{"graphics", Capability::graphics},
    CapabilityName{"display", Capability::display},
};

}  // namespace

Capabilities parse_capabilities(const std::vector<std::string_view>& words) {
  Capabilities found;
  for (const std::string_view word : words) {
    bool known = false;
    for (const CapabilityName& one : kCapabilityNames) {
      if (word != one.name && word != "all") continue;
      found.insert(one.capability);
      known = true;
    }
    if (!known)
      throw cage::Error(CAGE_INVALID_ARGUMENT,
                        "option driver_capabilities: '" + std::string(word) +
                            "' is not one of compute, utility, video, graphics, display and all");
  }
  return found;
}

}  // namespace cardcage::nvidia
