// The settings of the PLL that makes the user clock of a port of a Stratix 10 card, from a reference of 100 MHz.
//
// Source: struct pll_config of the OFS kernel (uapi/linux/intel-dfl-iopll.h); the settings are those that OPAE has in
// its table of frequencies.
#pragma once

#include <cardcage/sdk.hpp>
#include <cstdint>
#include <optional>

#include "modules/fpga/dfl/registers.h"

namespace cardcage::fpga {

struct ClockRates {
  unsigned high_khz = 0, low_khz = 0;  // rates of the fast clock, and of the slow clock, which has half of it
  friend bool operator==(const ClockRates&, const ClockRates&) = default;
};

// The layout that the kernel's driver takes. A counter has its high time in bits 8 to 15, its low time in bits 0 to 7,
// bit 16 if it divides by one, and bit 17 if its sum is odd.
struct IopllSettings {
  std::uint32_t khz, m, n, c1, c0, loop_filter, charge_pump, ripple_cap;
  friend bool operator==(const IopllSettings&, const IopllSettings&) = default;
};
static_assert(sizeof(IopllSettings) == 32);

inline constexpr unsigned kLeastIopllMhz = 10, kMostIopllMhz = 300;

// Returns the settings for the fastest slow clock of whole megahertz up to `mhz`, and a fast clock of twice that rate.
// Returns nothing outside 10 to 300 MHz.
std::optional<IopllSettings> iopll_settings(unsigned mhz);

// Drives the PLL through its registers, where the kernel has no driver for it. Throws FAILED_PRECONDITION if nothing
// was changed, and INTERNAL otherwise.
class Iopll {
 public:
  explicit Iopll(Registers& registers) : registers_(registers) {}

  // Returns 0 for the PLL for which iopll_settings() computes settings.
  unsigned revision() const;
  ClockRates measure(const cage::Call& call);
  void set(const cage::Call& call, const IopllSettings& settings);

 private:
  unsigned count(const cage::Call& call, bool fast);
  void reset(const cage::Call& call);
  void calibrate(const cage::Call& call);
  void write(const cage::Call& call, unsigned address, std::uint32_t data);
  void write_counter(const cage::Call& call, const unsigned (&addresses)[4], std::uint32_t value, std::uint32_t more);
  // Gives the PLL a command, and returns its response.
  std::uint32_t command(const cage::Call& call, std::uint64_t words);

  Registers& registers_;
};

}  // namespace cardcage::fpga
