// Checks the user clock against Documentation/ABI/testing/sysfs-platform-dfl-port and dfl-afu-main.c of Linux, the
// driver intel-dfl-iopll of the OFS kernel, and the registers in OPAE's user_clk_pgm_uclock.h.
#include "tests/sim/fpga/kernel_fixture.h"

namespace cardcage {
namespace {

class FakeFpgaUserClock : public FakeFpgaKernel {
 protected:
  void change_clock(const std::function<void(fake_fpga::Port&)>& change) {
    fpgas.change(kCard, [&](auto& card) { change(card.dfl->ports[0]); });
  }
};

TEST_F(FakeFpgaUserClock, CommandsAreWrittenAndStatusesRead) {
  struct stat about{};
  for (const char* name : {"userclk_freqcmd", "userclk_freqcntrcmd"}) {
    ASSERT_EQ(::stat(port(name).c_str(), &about), 0);
    EXPECT_EQ(about.st_mode & 0777, 0200u) << name;
    EXPECT_EQ(write_file(port(name), "fast"), EINVAL) << name;
    EXPECT_EQ(write_file(port(name), "0x0"), 0) << name;
  }
  for (const char* name : {"userclk_freqsts", "userclk_freqcntrsts"}) {
    EXPECT_EQ(write_file(port(name), "0x0"), EACCES) << name;
    EXPECT_TRUE(read_file(port(name)).text.starts_with("0x")) << name;
  }
}

TEST_F(FakeFpgaUserClock, ACommandIsAcknowledgedByItsSequenceNumber) {
  EXPECT_EQ(read_file(port("userclk_freqsts")).text, "0x1000000000000000\n") << "bit 60: locked";
  ASSERT_EQ(write_file(port("userclk_freqcmd"), "0x0012000000000000"), 0);
  EXPECT_EQ(read_file(port("userclk_freqsts")).text, "0x1002000000000000\n") << "bits 49:48";
  change_clock([](auto& changed) { changed.clock.locked = false; });
  EXPECT_EQ(read_file(port("userclk_freqsts")).text, "0x2000000000000\n");
}

TEST_F(FakeFpgaUserClock, TheCounterHasTenKilohertzOfTheClockThatWasChosen) {
  ASSERT_EQ(write_file(port("userclk_freqcntrcmd"), "0x0"), 0);
  EXPECT_EQ(read_file(port("userclk_freqcntrsts")).text, "0x3000000000003d09\n")
      << "156.25 MHz, version 3 in bits 63:60";
  ASSERT_EQ(write_file(port("userclk_freqcntrcmd"), "0x100000000"), 0);
  EXPECT_EQ(read_file(port("userclk_freqcntrsts")).text, "0x3000000100007a12\n") << "312.5 MHz, bit 32: the fast clock";
}

TEST_F(FakeFpgaUserClock, PortsOfLaterRevisionsHaveNoSuchFiles) {
  change_clock([](auto& changed) { changed.revision = 1; });
  for (const char* name : {"userclk_freqcmd", "userclk_freqcntrcmd", "userclk_freqsts", "userclk_freqcntrsts"})
    EXPECT_FALSE(fs::exists(port(name))) << name;
}

TEST_F(FakeFpgaUserClock, TheDriverOfTheOfsKernelTakesSettingsOfThePll) {
  change_clock([](auto& changed) { changed.revision = 1; });
  fs::path feature;
  for (const auto& entry : fs::directory_iterator(port("")))
    if (entry.path().filename().native().starts_with("dfl_dev.")) feature = entry.path();
  EXPECT_EQ(read_file(feature / "feature_id").text, "0x14\n");
  const fs::path file = feature / "userclk/frequency";
  EXPECT_EQ(read_file(file).text, "156250 312500\n") << "the slow clock first, in kHz";
  // OPAE's settings for 100 and 200 MHz.
  std::uint32_t settings[8] = {100000, 0x808, 0x10000, 0x808, 0x404, 0xc0, 4, 2};
  const std::string bytes(reinterpret_cast<const char*>(settings), sizeof settings);
  EXPECT_EQ(write_file(file, bytes.substr(1)), EINVAL);
  EXPECT_EQ(write_file(file, bytes), 0);
  EXPECT_EQ(read_file(file).text, "100000 200000\n");
  settings[0] = 600001;
  EXPECT_EQ(write_file(file, std::string(reinterpret_cast<const char*>(settings), sizeof settings)), EINVAL);
}

}  // namespace
}  // namespace cardcage
