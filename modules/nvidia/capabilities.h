// Uses of a GPU, named as in NVIDIA_DRIVER_CAPABILITIES of the container toolkit. Each needs files of the driver.
#pragma once

#include <set>
#include <string_view>
#include <vector>

namespace cardcage::nvidia {

enum class Capability { compute, utility, video, graphics, display };
using Capabilities = std::set<Capability>;

// Throws cage::Error for an unknown word. "all" is every capability.
Capabilities parse_capabilities(const std::vector<std::string_view>& words);

// A display shows images that the graphics libraries draw.
inline bool serves_graphics(const Capabilities& wanted) {
  return wanted.contains(Capability::graphics) || wanted.contains(Capability::display);
}

}  // namespace cardcage::nvidia
