#include "modules/fpga/dfl/iopll.h"

#include <algorithm>
#include <array>
#include <chrono>

namespace cardcage::fpga {
namespace {

constexpr unsigned kReferenceMhz = 100, kLeastVcoMhz = 600, kMostVcoMhz = 1600, kMostN = 10, kMostC1 = 160;

// Parameters of the loop that keeps the oscillator at the reference times M.
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

constexpr std::uint32_t kDividesByOne = 1u << 16, kIsOdd = 1u << 17;

std::uint32_t counter_of(unsigned divisor) {
  if (divisor == 1) return kDividesByOne;
  const std::uint32_t low = divisor / 2, high = divisor - low;
  return (divisor % 2 == 0 ? 0 : kIsOdd) | high << 8 | low;
}

// Prefers the fastest oscillator, and the fastest comparison with the reference.
std::optional<IopllSettings> exact_settings(unsigned mhz) {
  for (unsigned c1 = std::min(kMostVcoMhz / mhz, kMostC1) & ~1u; c1 >= 2 && c1 * mhz >= kLeastVcoMhz; c1 -= 2) {
    for (unsigned n = 1; n <= kMostN; ++n) {
      const unsigned m = c1 * mhz * n / kReferenceMhz;
      const Loop* const loop = c1 * mhz * n % kReferenceMhz == 0 ? loop_of(m) : nullptr;
      if (loop == nullptr) continue;
      return IopllSettings{.khz = mhz * 1000,
                           .m = counter_of(m),
                           .n = counter_of(n),
                           .c1 = counter_of(c1),
                           .c0 = counter_of(c1 / 2),
                           .loop_filter = loop->filter,
                           .charge_pump = loop->charge_pump,
                           .ripple_cap = loop->ripple_cap};
    }
  }
  return std::nullopt;
}

using std::chrono::milliseconds;

// Offsets of the registers.
constexpr std::size_t kPllHeader = 0, kPllCommand = 0x8, kPllMeasure = 0x10, kPllStatus = 0x18, kPllRate = 0x20;
constexpr unsigned kRevisionShift = 12, kAddressShift = 32, kSequenceShift = 48;
constexpr std::uint64_t kRevisionBits = 0xf, kPllSequence = 3, kWrites = 1ull << 44;
constexpr std::uint64_t kBusIsUp = 1ull << 52, kBusReset = 1ull << 56, kPllReset = 1ull << 57, kPllLocked = 1ull << 60;
constexpr std::uint64_t kPllFast = 1ull << 32, kTenKilohertz = 0x1ffff;
constexpr milliseconds kPllCountingTime{8}, kPllStep{1}, kCommandLimit{1000};

// Addresses of the PLL: high time, low time, division by one, odd sum.
constexpr unsigned kM[] = {0x104, 0x107, 0x105, 0x106}, kN[] = {0x100, 0x102, 0x101, 0x101};
constexpr unsigned kC0[] = {0x11b, 0x11e, 0x11c, 0x11d}, kC1[] = {0x11f, 0x122, 0x120, 0x121};
constexpr unsigned kChargePump = 0x10d, kLoopFilter = 0x10a, kRequest = 0x149, kEnable = 0x14a;

[[noreturn]] void fail_pll(cage_status status, const char* what) {
  throw cage::Error(status, std::string("the PLL of the user clock ") + what);
}

}  // namespace

unsigned Iopll::revision() const {
  return static_cast<unsigned>(registers_.read(kPllHeader) >> kRevisionShift & kRevisionBits);
}

ClockRates Iopll::measure(const cage::Call& call) {
  if ((registers_.read(kPllStatus) & kPllLocked) == 0) fail_pll(CAGE_FAILED_PRECONDITION, "is not locked");
  ClockRates rates;
  rates.high_khz = count(call, true);
  rates.low_khz = count(call, false);
  return rates;
}

unsigned Iopll::count(const cage::Call& call, bool fast) {
  registers_.write(kPllMeasure, fast ? kPllFast : 0);
  call.sleep(kPllCountingTime);
  return static_cast<unsigned>(registers_.read(kPllRate) & kTenKilohertz) * 10;
}

void Iopll::set(const cage::Call& call, const IopllSettings& settings) {
  const std::uint32_t pump = settings.charge_pump;
  write_counter(call, kM, settings.m, 0);
  write_counter(call, kN, settings.n, (pump & 7) << 4);
  write_counter(call, kC0, settings.c0, 0);
  write_counter(call, kC1, settings.c1, 0);
  write(call, kChargePump, (pump >> 3 & 7) << 5);
  write(call, kLoopFilter, (settings.loop_filter >> 6 & 0xff) << 3 | (settings.ripple_cap & 3) << 1);
  reset(call);
  calibrate(call);
}

void Iopll::write_counter(const cage::Call& call, const unsigned (&addresses)[4], std::uint32_t value,
                          std::uint32_t more) {
  const std::uint32_t by_one = (value & kDividesByOne) != 0 ? 1 : 0, odd = (value & kIsOdd) != 0 ? 1u << 7 : 0;
  write(call, addresses[0], value >> 8 & 0xff);
  write(call, addresses[1], value & 0xff);
  if (addresses[2] == addresses[3]) {
    write(call, addresses[2], odd | more | by_one);
    return;
  }
  write(call, addresses[2], by_one);
  write(call, addresses[3], odd);
}

void Iopll::reset(const cage::Call& call) {
  for (const std::uint64_t step : {kBusReset | kPllReset, kBusReset, kBusIsUp}) {
    registers_.write(kPllCommand, step);
    call.sleep(kPllStep);
  }
  if ((registers_.read(kPllStatus) & kPllLocked) == 0) fail_pll(CAGE_INTERNAL, "is not locked after it was set");
}

void Iopll::calibrate(const cage::Call& call) {
  constexpr std::uint32_t kRequested = 1u << 6, kEnabled = 3;
  const std::uint32_t before = command(call, std::uint64_t{kRequest} << kAddressShift);
  write(call, kRequest, before | kRequested);
  write(call, kEnable, kEnabled);
  call.sleep(kPllStep);
}

void Iopll::write(const cage::Call& call, unsigned address, std::uint32_t data) {
  command(call, kWrites | std::uint64_t{address} << kAddressShift | data);
}

std::uint32_t Iopll::command(const cage::Call& call, std::uint64_t words) {
  const std::uint64_t sequence = ((registers_.read(kPllStatus) >> kSequenceShift) + 1) & kPllSequence;
  registers_.write(kPllCommand, words | sequence << kSequenceShift | kBusIsUp);
  std::uint64_t status = 0;
  const auto is_done = [&] {
    status = registers_.read(kPllStatus);
    return (status >> kSequenceShift & kPllSequence) == sequence;
  };
  if (!call.wait_for(kCommandLimit, kPllStep, is_done)) fail_pll(CAGE_INTERNAL, "does not respond");
  return static_cast<std::uint32_t>(status);
}

std::optional<IopllSettings> iopll_settings(unsigned mhz) {
  if (mhz > kMostIopllMhz) return std::nullopt;
  for (; mhz >= kLeastIopllMhz; --mhz)
    if (const auto settings = exact_settings(mhz)) return settings;
  return std::nullopt;
}

}  // namespace cardcage::fpga
