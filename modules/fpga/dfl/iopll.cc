#include "modules/fpga/dfl/iopll.h"

#include <algorithm>
#include <array>

namespace cardcage::fpga {
namespace {

constexpr unsigned kReferenceMhz = 100, kLeastVcoMhz = 600, kMostVcoMhz = 1600, kMostN = 10, kMostC1 = 160;

// The loop that keeps the oscillator at the reference times M.
struct Loop {
  unsigned least_m, most_m;
  std::uint32_t filter, charge_pump, ripple_cap;
};
constexpr std::array kLoops{Loop{11, 15, 0xc0, 4, 0},  Loop{16, 23, 0xc0, 4, 2},   Loop{25, 43, 0x100, 4, 0},
                            Loop{44, 64, 0x140, 4, 2}, Loop{65, 123, 0x180, 4, 2}, Loop{125, 160, 0x180, 6, 2}};

const Loop* loop_of(unsigned m) {
  const auto found =
      std::ranges::find_if(kLoops, [m](const Loop& loop) { return m >= loop.least_m && m <= loop.most_m; });
  return found == kLoops.end() ? nullptr : &*found;
}

std::uint32_t counter(unsigned divisor) {
  constexpr std::uint32_t kDividesByOne = 1u << 16, kIsOdd = 1u << 17;
  if (divisor == 1) return kDividesByOne;
  const std::uint32_t low = divisor / 2, high = divisor - low;
  return (divisor % 2 == 0 ? 0 : kIsOdd) | high << 8 | low;
}

// With the fastest oscillator, and the fastest comparison with the reference.
std::optional<IopllSettings> exact_settings(unsigned mhz) {
  for (unsigned c1 = std::min(kMostVcoMhz / mhz, kMostC1) & ~1u; c1 >= 2 && c1 * mhz >= kLeastVcoMhz; c1 -= 2) {
    for (unsigned n = 1; n <= kMostN; ++n) {
      const unsigned m = c1 * mhz * n / kReferenceMhz;
      const Loop* const loop = c1 * mhz * n % kReferenceMhz == 0 ? loop_of(m) : nullptr;
      if (loop == nullptr) continue;
      return IopllSettings{.khz = mhz * 1000,
                           .m = counter(m),
                           .n = counter(n),
                           .c1 = counter(c1),
                           .c0 = counter(c1 / 2),
                           .loop_filter = loop->filter,
                           .charge_pump = loop->charge_pump,
                           .ripple_cap = loop->ripple_cap};
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<IopllSettings> iopll_settings(unsigned mhz) {
  if (mhz > kMostIopllMhz) return std::nullopt;
  for (; mhz >= kLeastIopllMhz; --mhz)
    if (const auto settings = exact_settings(mhz)) return settings;
  return std::nullopt;
}

}  // namespace cardcage::fpga
