// The user clock of a port, which drives the function that is loaded there. A function computes wrong results on a
// clock that is faster than the one it was built for.
//
// Source: Documentation/ABI/testing/sysfs-platform-dfl-port of the kernel; for what the registers mean, OPAE's
// libraries/plugins/xfpga/usrclk. The attribute `frequency` is that of the driver intel-dfl-iopll of the OFS kernel.
#pragma once

#include <optional>
#include <string>

#include "modules/fpga/dfl/card.h"
#include "modules/fpga/dfl/iopll.h"
#include "modules/fpga/target.h"

namespace cardcage::fpga {

// Returns nothing for a bitstream that runs with any clock, or whose manifest accepts the clock of the card.
std::optional<ClockRates> clock_for(const Entry& bitstream);

// Throws FAILED_PRECONDITION if the bitstream needs a clock, and the module cannot measure that of the port.
void require_clock(const Tools& tools, const DflCard& card, const DflPort& port, const Entry& bitstream);

class UserClock {
 public:
  // `device` is the id of the device that waits for it.
  UserClock(const Tools& tools, const DflCard& card, const DflPort& port, std::string device);

  // Returns why the module cannot measure the clock; empty if it can.
  std::string why_not_measurable() const;
  // Returns whether the clock is as fast as the bitstream wants, or slower where it cannot be set.
  bool suits(const cage::Call& call, const ClockRates& wanted) const;
  // Sets the clock. Throws FAILED_PRECONDITION, and has changed nothing, if it is too fast and cannot be set.
  void set(const cage::Call& call, const ClockRates& wanted) const;

 private:
  // Four files of the port, a file of a driver, registers, or registers that no driver offers.
  enum class Kind { kNone, kCounters, kFrequency, kRegisters, kHidden };
  static std::string feature_of(const DflPort& port);
  static Kind kind_of(const std::filesystem::path& port, const std::filesystem::path& feature);

  ClockRates measure(const cage::Call& call) const;
  void require_near(const cage::Call& call, const ClockRates& wanted) const;
  unsigned count(const cage::Call& call, bool fast) const;
  void wait_until_locked(const cage::Call& call) const;
  std::uint64_t status(const char* attribute) const;
  unsigned revision() const;
  std::optional<ClockRates> attainable(const ClockRates& wanted) const;
  void write_settings(const cage::Call& call, unsigned mhz) const;
  void write(const cage::Call& call, const std::filesystem::path& file, std::string data) const;
  [[noreturn]] void refuse(const std::string& why) const;

  const Tools& tools_;
  const std::string subject_, device_;
  const std::filesystem::path port_, feature_;  // folders
  const Kind kind_;
};

}  // namespace cardcage::fpga
