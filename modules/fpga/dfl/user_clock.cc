#include "modules/fpga/dfl/user_clock.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstring>

#include "modules/common/kernel_files.h"
#include "modules/fpga/dfl/iopll.h"

namespace cardcage::fpga {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

constexpr const char *kCounterCommand = "userclk_freqcntrcmd", *kClockStatus = "userclk_freqsts",
                     *kCounterStatus = "userclk_freqcntrsts";
constexpr std::uint64_t kUserClockFeature = 0x14;

// Bits of userclk_freqsts.
constexpr std::uint64_t kClockLocked = 1ull << 60, kClockCalibrating = 1ull << 61;
// The bit of userclk_freqcntrcmd and userclk_freqcntrsts that chooses the fast clock instead of the slow one.
constexpr std::uint64_t kCountsFast = 1ull << 32;
constexpr std::uint64_t kCounterRate = 0x1ffff;  // in 10 kHz
constexpr unsigned kClockVersionShift = 60, kClockVersion = 3, kEarlierClockVersion = 1;
constexpr milliseconds kCounterTime{10}, kLockPollInterval{1}, kLockLimit{1000};

// A counter is exact to some hertz, and a design is closed with a reserve.
constexpr unsigned kTolerance = 200;  // the tolerance is 1/200

bool is_faster(unsigned khz, unsigned than) { return khz > than + than / kTolerance; }
bool is_slower(unsigned khz, unsigned than) { return khz + than / kTolerance < than; }

bool is_faster(const ClockRates& one, const ClockRates& than) {
  return is_faster(one.high_khz, than.high_khz) || is_faster(one.low_khz, than.low_khz);
}
bool is_near(const ClockRates& one, const ClockRates& other) {
  return !is_faster(one, other) && !is_slower(one.high_khz, other.high_khz) && !is_slower(one.low_khz, other.low_khz);
}

// "312.5"
std::string mhz_text(unsigned khz) {
  std::string text = std::to_string(khz / 1000) + "." + std::to_string(1000 + khz % 1000).substr(1);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

std::string rates_text(const ClockRates& rates) {
  return mhz_text(rates.high_khz) + " and " + mhz_text(rates.low_khz) + " MHz";
}

}  // namespace

std::optional<ClockRates> clock_for(const Entry& entry) {
  const Bitstream& built = entry.bitstream;
  if (entry.clock_as_is || (!built.clock_high_mhz && !built.clock_low_mhz)) return std::nullopt;
  const unsigned low = built.clock_low_mhz.value_or(built.clock_high_mhz.value_or(0) / 2);
  return ClockRates{.high_khz = built.clock_high_mhz.value_or(2 * low) * 1000, .low_khz = low * 1000};
}

void require_clock(const Tools& tools, const DflCard& card, const DflPort& port, const Entry& bitstream) {
  const auto wanted = clock_for(bitstream);
  const std::string why = wanted ? UserClock(tools, card, port, {}).why_not_measurable() : std::string();
  if (why.empty()) return;
  throw cage::Error(CAGE_FAILED_PRECONDITION,
                    "bitstream '" + bitstream.name + "' cannot be loaded into card " + card.bus_id +
                        ": it was built for a user clock of " + rates_text(*wanted) + ", and " + why +
                        "; on a faster clock it computes wrong results. Set the card's clock, then add clock_as_is = "
                        "true to the manifest");
}

UserClock::UserClock(const Tools& tools, const DflCard& card, const DflPort& port, std::string device)
    : tools_(tools),
      subject_("the user clock of port " + std::to_string(port.number) + " of card " + card.bus_id),
      device_(std::move(device)),
      port_(port.folder),
      feature_(feature_of(port)),
      kind_(kind_of(port_, feature_)) {}

std::string UserClock::feature_of(const DflPort& port) {
  for (const std::string& name : hardware::names_in(port.folder))
    if (name.starts_with("dfl_dev.") && hardware::number_in(port.folder / name / "feature_id") == kUserClockFeature)
      return port.folder / name;
  return {};
}

UserClock::Kind UserClock::kind_of(const fs::path& port, const fs::path& feature) {
  if (fs::exists(port / kCounterStatus)) return Kind::kCounters;
  if (feature.empty()) return Kind::kNone;
  if (fs::exists(feature / "userclk/frequency")) return Kind::kFrequency;
  return has_registers(feature) ? Kind::kRegisters : Kind::kHidden;
}

std::string UserClock::why_not_measurable() const {
  if (kind_ == Kind::kNone) return "the kernel shows no user clock of its port";
  if (kind_ == Kind::kHidden)
    return "the kernel has no driver for the user clock of its port; load uio_dfl, or use the kernel of OFS";
  return {};
}

bool UserClock::suits(const cage::Call& call, const ClockRates& wanted) const {
  const ClockRates now = measure(call);
  if (is_faster(now, wanted)) return false;
  const auto best = attainable(wanted);
  return !best || is_near(now, *best);
}

void UserClock::set(const cage::Call& call, const ClockRates& wanted) const {
  const ClockRates now = measure(call);
  const auto best = attainable(wanted);
  if (!best && is_faster(now, wanted))
    refuse("is " + rates_text(now) + ", faster than the " + rates_text(wanted) +
           " that the bitstream was built for, and this module cannot set it; set it with OPAE's userclk");
  if (!best || is_near(now, *best)) return;
  // OPAE: a step from one extreme to the other may not become stable.
  constexpr unsigned kBetweenMhz = 150;
  write_settings(call, kBetweenMhz);
  write_settings(call, best->low_khz / 1000);
  require_near(call, *best);
}

// The clock was changed, so an error must not have the status for an unchanged clock.
void UserClock::require_near(const cage::Call& call, const ClockRates& wanted) const {
  ClockRates now;
  try {
    now = measure(call);
  } catch (const cage::Error& error) {
    throw cage::Error(CAGE_INTERNAL, error.what());
  }
  if (!is_near(now, wanted))
    throw cage::Error(CAGE_INTERNAL,
                      subject_ + " is " + rates_text(now) + " after it was set to " + rates_text(wanted));
}

ClockRates UserClock::measure(const cage::Call& call) const {
  if (const std::string why = why_not_measurable(); !why.empty()) refuse("cannot be read: " + why);
  if (kind_ == Kind::kRegisters) {
    const auto registers = map_registers(tools_.node.devfs, feature_);
    return Iopll(*registers).measure(call);
  }
  if (kind_ == Kind::kFrequency) {
    const hardware::Reading reading = hardware::read_attribute(feature_ / "userclk/frequency");
    if (reading.error != 0) refuse(std::string("cannot be read: ") + std::strerror(reading.error));
    ClockRates rates;
    const char* const last = reading.text.data() + reading.text.size();
    const auto low = std::from_chars(reading.text.data(), last, rates.low_khz);
    if (low.ec != std::errc() || low.ptr == last ||
        std::from_chars(low.ptr + 1, last, rates.high_khz).ec != std::errc())
      refuse("cannot be read: the kernel says '" + reading.text + "'");
    return rates;
  }
  wait_until_locked(call);
  ClockRates rates;
  rates.low_khz = count(call, false);
  rates.high_khz = count(call, true);
  return rates;
}

void UserClock::wait_until_locked(const cage::Call& call) const {
  const auto is_locked = [this] {
    const std::uint64_t now = status(kClockStatus);
    return (now & kClockLocked) != 0 && (now & kClockCalibrating) == 0;
  };
  if (!call.wait_for(kLockLimit, kLockPollInterval, is_locked))
    refuse("is not stable: its PLL is not locked; set it with OPAE's userclk, or power-cycle the node");
}

unsigned UserClock::count(const cage::Call& call, bool fast) const {
  write(call, port_ / kCounterCommand, fast ? "0x100000000" : "0x0");
  call.sleep(kCounterTime);
  const std::uint64_t now = status(kCounterStatus);
  const auto version = now >> kClockVersionShift;
  if (version != kClockVersion && version != kEarlierClockVersion)
    refuse("has version " + std::to_string(version) + " of its registers, which this module does not know");
  if (((now & kCountsFast) != 0) != fast) refuse("cannot be read: another program is counting it");
  return static_cast<unsigned>(now & kCounterRate) * 10;
}

std::uint64_t UserClock::status(const char* attribute) const {
  const auto number = hardware::number_in(port_ / attribute);
  if (!number) refuse(std::string("cannot be read: ") + attribute + " has no number");
  return *number;
}

unsigned UserClock::revision() const {
  if (kind_ == Kind::kRegisters) return Iopll(*map_registers(tools_.node.devfs, feature_)).revision();
  return static_cast<unsigned>(hardware::number_in(feature_ / "feature_rev").value_or(0));
}

// Returns nothing if the clock cannot be set, or not to any rate that is slow enough.
std::optional<ClockRates> UserClock::attainable(const ClockRates& wanted) const {
  const bool has_pll = kind_ == Kind::kFrequency || kind_ == Kind::kRegisters;
  if (!has_pll || revision() != 0) return std::nullopt;  // cards of other revisions have other settings
  const auto settings = iopll_settings(std::min(wanted.low_khz, wanted.high_khz / 2) / 1000);
  if (!settings) return std::nullopt;
  return ClockRates{.high_khz = 2 * settings->khz, .low_khz = settings->khz};
}

void UserClock::write_settings(const cage::Call& call, unsigned mhz) const {
  const IopllSettings settings = iopll_settings(mhz).value();
  if (kind_ == Kind::kRegisters) {
    const auto registers = map_registers(tools_.node.devfs, feature_);
    Iopll(*registers).set(call, settings);
    return;
  }
  std::string data(sizeof settings, '\0');
  std::memcpy(data.data(), &settings, sizeof settings);
  write(call, feature_ / "userclk/frequency", std::move(data));
}

void UserClock::write(const cage::Call& call, const fs::path& file, std::string data) const {
  tools_.host.write_file(call, {.device = device_, .path = file, .data = std::move(data)});
}

void UserClock::refuse(const std::string& why) const {
  throw cage::Error(CAGE_FAILED_PRECONDITION, subject_ + " " + why);
}

}  // namespace cardcage::fpga
