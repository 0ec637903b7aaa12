// The settings of the PLL that makes the user clock of a port of a Stratix 10 card, from a reference of 100 MHz.
//
// Source: struct pll_config of the OFS kernel (uapi/linux/intel-dfl-iopll.h); the settings are those that OPAE has in
// its table of frequencies.
#pragma once

#include <cstdint>
#include <optional>

namespace cardcage::fpga {

// As the kernel's driver takes it. A counter has its high time in bits 8 to 15, its low time in bits 0 to 7, bit 16 if
// it divides by one, and bit 17 if its sum is odd.
struct IopllSettings {
  std::uint32_t khz, m, n, c1, c0, loop_filter, charge_pump, ripple_cap;
  friend bool operator==(const IopllSettings&, const IopllSettings&) = default;
};
static_assert(sizeof(IopllSettings) == 32);

inline constexpr unsigned kLeastIopllMhz = 10, kMostIopllMhz = 300;

// For the fastest slow clock of whole megahertz that is no faster than `mhz`, and a fast clock of twice that. Nothing
// outside 10 to 300 MHz.
std::optional<IopllSettings> iopll_settings(unsigned mhz);

}  // namespace cardcage::fpga
