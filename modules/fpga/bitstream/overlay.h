// Device-tree overlays (.dtbo): the kernel's fpga_manager programs the file that an overlay names.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace cardcage::fpga {

inline constexpr std::size_t kMostOverlayBytes = 1 << 20;

// Returns the values of every property firmware-name, at most 16. Throws cage::Error with the cause and the remedy if
// the bytes are not a flattened device tree.
std::vector<std::string> firmware_names(std::string_view overlay);

}  // namespace cardcage::fpga
