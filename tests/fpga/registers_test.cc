// Tests the PLL of a user clock through its registers, as the OFS kernel's intel-dfl-iopll.c and OPAE drive it.
#include "modules/fpga/dfl/registers.h"

#include <gmock/gmock.h>

#include <map>

#include "modules/fpga/dfl/iopll.h"
#include "tests/fpga/node_files.h"

namespace cardcage::fpga {
namespace {

// Computes its rates from the written settings, once it was reset and calibrated.
class FakePll final : public Registers {
 public:
  std::uint64_t read(std::size_t offset) const override {
    switch (offset) {
      case 0x00: return 0x3000010000000014ull | std::uint64_t{revision} << 12;
      case 0x18: return (locked ? 1ull << 60 : 0) | sequence_ << 48 | data_;
      case 0x20: return 3ull << 60 | (fast_ ? high_khz : low_khz) / 10;
      default: return 0;
    }
  }
  void write(std::size_t offset, std::uint64_t value) override {
    if (offset == 0x10) fast_ = (value >> 32 & 1) != 0;
    if (offset != 0x08) return;
    if ((value >> 57 & 1) != 0) resets += 1;
    if ((value >> 52 & 1) == 0 || !responds) return;
    const auto address = static_cast<unsigned>(value >> 32 & 0x3ff);
    if (address == 0) return;  // the bus comes up
    sequence_ = value >> 48 & 3;
    if ((value >> 44 & 1) != 0) settings[address] = static_cast<std::uint32_t>(value);
    data_ = settings[address];
    if (address == 0x14a) start();
  }

  bool locked = true, responds = true;
  unsigned revision = 0, high_khz = 312500, low_khz = 156250, resets = 0;
  std::map<unsigned, std::uint32_t> settings;

 private:
  unsigned divisor(unsigned high, unsigned low, unsigned by_one) {
    return (settings[by_one] & 1) != 0 ? 1 : settings[high] + settings[low];
  }
  void start() {
    const unsigned oscillator = 100000 / divisor(0x100, 0x102, 0x101) * divisor(0x104, 0x107, 0x105);
    high_khz = oscillator / divisor(0x11b, 0x11e, 0x11c);
    low_khz = oscillator / divisor(0x11f, 0x122, 0x120);
  }

  std::uint64_t sequence_ = 2, data_ = 0;
  bool fast_ = false;
};

TEST(FpgaPll, IsMeasuredAndSet) {
  const RecordingHost host;
  FakePll registers;
  Iopll pll(registers);
  EXPECT_EQ(pll.revision(), 0u);
  EXPECT_EQ(pll.measure(host.call()), (ClockRates{.high_khz = 312500, .low_khz = 156250}));
  for (const unsigned mhz : {10u, 41u, 100u, 123u, 135u, 300u}) {
    pll.set(host.call(), iopll_settings(mhz).value());
    EXPECT_EQ(pll.measure(host.call()), (ClockRates{.high_khz = 2000 * mhz, .low_khz = 1000 * mhz}));
  }
  EXPECT_EQ(registers.resets, 6u);
}

// For 123 MHz: M 123 = 62 + 61 and odd, N 10, C0 5 = 3 + 2 and odd, C1 10, filter 0x180, pump 4, capacitor 2.
TEST(FpgaPll, SettingsHaveTheirPlaces) {
  const RecordingHost host;
  FakePll registers;
  Iopll(registers).set(host.call(), iopll_settings(123).value());
  const std::map<unsigned, std::uint32_t> expected{{0x100, 5}, {0x101, 4 << 4}, {0x102, 5},  {0x104, 62},
                                                   {0x105, 0}, {0x106, 0x80},   {0x107, 61}, {0x10a, 0x6 << 3 | 2 << 1},
                                                   {0x10d, 0}, {0x11b, 3},      {0x11c, 0},  {0x11d, 0x80},
                                                   {0x11e, 2}, {0x11f, 5},      {0x120, 0},  {0x121, 0},
                                                   {0x122, 5}, {0x149, 0x40},   {0x14a, 3}};
  EXPECT_EQ(registers.settings, expected);
}

TEST(FpgaPll, OneThatIsNotLockedOrDoesNotRespondIsAnError) {
  const RecordingHost host;
  FakePll registers;
  Iopll pll(registers);
  registers.locked = false;
  EXPECT_THAT(error_of(CAGE_FAILED_PRECONDITION, [&] { pll.measure(host.call()); }),
              ::testing::HasSubstr("is not locked"));
  EXPECT_THAT(error_of(CAGE_INTERNAL, [&] { pll.set(host.call(), iopll_settings(100).value()); }),
              ::testing::HasSubstr("is not locked after it was set"));
  registers.responds = false;
  EXPECT_THAT(error_of(CAGE_INTERNAL, [&] { pll.set(host.call(), iopll_settings(100).value()); }),
              ::testing::HasSubstr("does not respond"));
}

class FpgaRegisters : public NodeFiles {};

TEST_F(FpgaRegisters, AreMappedAtTheOffsetThatTheKernelTells) {
  const std::filesystem::path feature = folder / "sys/port/dfl_dev.4";
  EXPECT_FALSE(has_registers(feature));
  write("sys/port/dfl_dev.4/uio/uio3/maps/map0/size", "0x1000\n");
  write("sys/port/dfl_dev.4/uio/uio3/maps/map0/offset", "0x40\n");
  EXPECT_TRUE(has_registers(feature));
  EXPECT_THAT(error_of(CAGE_FAILED_PRECONDITION, [&] { map_registers(folder / "dev", feature); }),
              ::testing::HasSubstr("uio3' cannot be mapped: No such file or directory; add /dev/uio*"));
  std::string bytes(4096, '\0');
  bytes[0x58] = '\x2a';
  write("dev/uio3", bytes);
  const auto registers = map_registers(folder / "dev", feature);
  EXPECT_EQ(registers->read(0x18), 0x2au);
  registers->write(0x8, 0x1122);
  EXPECT_EQ(registers->read(0x8), 0x1122u);
  write("sys/port/dfl_dev.4/uio/uio3/maps/map0/offset", "0xff0\n");
  EXPECT_THAT(error_of(CAGE_FAILED_PRECONDITION, [&] { map_registers(folder / "dev", feature); }),
              ::testing::HasSubstr("does not tell its size"));
}

}  // namespace
}  // namespace cardcage::fpga
