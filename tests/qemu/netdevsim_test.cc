// Tests the module's netlink reads on the kernel's simulated cards, which have 64 virtual functions each, and devlink.
#include <gmock/gmock.h>
#include <net/if.h>

#include <chrono>
#include <cstdio>
#include <filesystem>

#include "modules/nic/netlink/devlink.h"
#include "modules/nic/netlink/virtual_functions.h"
#include "tests/qemu/machine_files.h"

namespace cardcage::nic {
namespace {

using ::testing::Contains;
using ::testing::SizeIs;

constexpr int kCards = 4, kVirtual = 64;

std::string card(int number) { return "netdevsim" + std::to_string(number); }
std::filesystem::path debug_folder(int number) { return "/sys/kernel/debug/netdevsim/" + card(number); }
std::filesystem::path folder(int number) { return "/sys/bus/netdevsim/devices/" + card(number); }
std::string interface_of(int number) {
  return std::filesystem::directory_iterator(folder(number) / "net")->path().filename();
}

class Netdevsim : public ::testing::Test {
 protected:
  void SetUp() override {
    for (int i = 1; i <= kCards; ++i) {
      write_to("/sys/bus/netdevsim/new_device", std::to_string(i) + " 1");
      write_to(debug_folder(i) / "max_vfs", std::to_string(kVirtual));
      write_to(folder(i) / "sriov_numvfs", std::to_string(kVirtual));
    }
    ASSERT_TRUE(succeeds("udevadm settle")) << "udev names them";
  }
  void TearDown() override {
    for (int i = 1; i <= kCards; ++i) write_to("/sys/bus/netdevsim/del_device", std::to_string(i));
  }
};

TEST_F(Netdevsim, ReadsWhatIproute2HasSet) {
  const std::string name = interface_of(2);
  ASSERT_TRUE(succeeds("ip link set " + name + " vf 63 mac 02:00:00:00:00:63"));
  ASSERT_TRUE(succeeds("ip link set " + name + " vf 63 vlan 77 qos 3"));
  ASSERT_TRUE(succeeds("ip link set " + name + " vf 63 trust on"));
  ASSERT_TRUE(succeeds("ip link set " + name + " vf 63 max_tx_rate 100 min_tx_rate 10"));
  NetlinkSocket socket;
  const VirtualFunctions functions = read_virtual_functions(socket, ::if_nametoindex(name.c_str()));
  ASSERT_THAT(functions, SizeIs(kVirtual));
  const VirtualFunction& last = functions.at(kVirtual - 1);
  EXPECT_EQ(last.mac, "02:00:00:00:00:63");
  EXPECT_EQ(last.vlan, 77U);
  EXPECT_EQ(last.qos, 3U);
  EXPECT_TRUE(last.trust);
  EXPECT_EQ(last.min_rate, 10U);
  EXPECT_EQ(last.max_rate, 100U);
  EXPECT_EQ(functions.at(0).vlan, 0U);
}

TEST_F(Netdevsim, ReadsTheAttributesOf256VirtualFunctions) {
  NetlinkSocket socket;
  constexpr int kRounds = 20;
  std::size_t count = 0;
  const auto start = std::chrono::steady_clock::now();
  for (int round = 0; round < kRounds; ++round)
    for (int i = 1; i <= kCards; ++i)
      count += read_virtual_functions(socket, ::if_nametoindex(interface_of(i).c_str())).size();
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
  ASSERT_EQ(count, kRounds * kCards * kVirtual);
  // The time has no limit here, because the speed of an emulated processor depends on the load of the host.
  std::printf("reading the attributes of %d virtual functions: %.2f ms\n", kCards * kVirtual, took.count() / kRounds);
}

TEST_F(Netdevsim, TellsTheModeOfTheSwitch) {
  Devlink devlink;
  EXPECT_THAT(devlink.cards(), Contains("netdevsim/netdevsim1"));
  EXPECT_EQ(devlink.eswitch_mode("netdevsim/netdevsim1"), "legacy");
  ASSERT_TRUE(succeeds("devlink dev eswitch set netdevsim/netdevsim1 mode switchdev"));
  EXPECT_EQ(devlink.eswitch_mode("netdevsim/netdevsim1"), "switchdev");
  EXPECT_EQ(devlink.eswitch_mode("netdevsim/netdevsim9"), "") << "there is none";
  ASSERT_TRUE(succeeds("devlink dev eswitch set netdevsim/netdevsim1 mode legacy"));
}

TEST_F(Netdevsim, HearsOfAHealthReporter) {
  Devlink devlink, watched;
  watched.watch();
  const auto state = [&devlink](const std::string& name) {
    const HealthReporters all = devlink.reporters();
    for (const HealthReporter& reporter : all.at("netdevsim/netdevsim3"))
      if (reporter.name == name) return reporter;
    return HealthReporter{};
  };
  EXPECT_EQ(state("dummy").name, "dummy");
  EXPECT_FALSE(state("dummy").is_in_error);
  EXPECT_FALSE(watched.receive());
  write_to(debug_folder(3) / "health/fail_recover", "Y");
  EXPECT_FALSE(succeeds("(echo it broke >" + (debug_folder(3) / "health/break_health").native() + ")"))
      << "the write fails with the recovery";
  EXPECT_TRUE(state("dummy").is_in_error);
  EXPECT_EQ(state("dummy").errors, 1U);
  EXPECT_FALSE(state("empty").is_in_error);
  EXPECT_TRUE(watched.receive());
  EXPECT_FALSE(watched.receive()) << "it was told once";
  write_to(debug_folder(3) / "health/fail_recover", "N");
  ASSERT_TRUE(succeeds("devlink health recover netdevsim/netdevsim3 reporter dummy"));
  EXPECT_FALSE(state("dummy").is_in_error);
  EXPECT_TRUE(watched.receive());
}

}  // namespace
}  // namespace cardcage::nic
