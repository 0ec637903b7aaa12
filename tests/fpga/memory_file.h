#pragma once

#include <algorithm>
#include <string_view>

#include "modules/fpga/bitstream/bitstream.h"

namespace cardcage::fpga {

// Returns a file with these bytes, which must outlive it.
inline FileBytes in_memory(std::string_view bytes) {
  return FileBytes(bytes.size(), [bytes](std::uint64_t offset, std::span<char> into) {
    const std::string_view part = bytes.substr(std::min<std::uint64_t>(offset, bytes.size()), into.size());
    std::ranges::copy(part, into.begin());
    return part.size();
  });
}

}  // namespace cardcage::fpga
