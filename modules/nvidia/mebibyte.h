#pragma once

#include <cstdint>

namespace cardcage::nvidia {

constexpr std::uint64_t kMib = std::uint64_t{1} << 20;

}  // namespace cardcage::nvidia
