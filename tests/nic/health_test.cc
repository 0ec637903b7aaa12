// Tests the statements about the health of devices.
#include "modules/nic/health/declared_causes.h"
#include "tests/nic/nic_fixture.h"

namespace cardcage {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
namespace cause = nic::cause;

const std::string kPhysical = "0000:41:00.0", kVirtual = "0000:41:10.0";

class NicHealth : public NicFixture {
 protected:
  NicHealth() {
    tree.card(kPhysical, "mlx5_core");
    tree.netdev("enp65s0", kPhysical);
    link(true, true);
    tree.attribute(kPhysical, "config", "\x15\xb3\x10\x1e");
  }
  // Sets the link up or down, and its carrier.
  void link(bool up, bool carrier) {
    tree.netdev_attribute("enp65s0", "flags", up ? "0x1003" : "0x1002");
    // The kernel refuses to read the carrier of an interface that is down.
    tree.netdev_attribute("enp65s0", "carrier", !up ? "" : carrier ? "1" : "0");
  }
  void rdma_port(const std::string& state) {
    tree.attribute(kPhysical, "infiniband/mlx5_0/ports/1/state", state + "\n");
  }
  void nonfatal_errors(const std::string& count) {
    tree.attribute(kPhysical, "aer_dev_nonfatal", "TLP " + count + "\nTOTAL_ERR_NONFATAL " + count + "\n");
  }
  // Returns the statement of a look about the cause: "OK", or the reason and the message.
  std::string stated(const char* about, const std::string& id = kPhysical) {
    reports.clear();
    discover();
    let_news_pass();
    settle();
    std::string last;
    for (const auto& [device, health] : reports)
      if (device == id && health.cause == about)
        last = health.state == HealthState::kHealthy ? "OK" : health.reason + ": " + health.message;
    return last;
  }
};
INSTANTIATE_TEST_SUITE_P(Isolation, NicHealth, ::testing::Values(Isolation::kInProcess, Isolation::kProcess),
                         name_of_isolation);

TEST_P(NicHealth, ALinkThatIsUpIsWell) {
  ASSERT_TRUE(start());
  EXPECT_EQ(stated(cause::kLink), "OK");
  EXPECT_EQ(stated(cause::kLink), "") << "good health is stated once";
}

TEST_P(NicHealth, AnInterfaceWithoutACableIsDegraded) {
  ASSERT_TRUE(start());
  link(true, false);
  EXPECT_THAT(stated(cause::kLink), HasSubstr("NoCarrier: interface 'enp65s0' has no carrier"));
  link(true, true);
  EXPECT_EQ(stated(cause::kLink), "OK");
}

TEST_P(NicHealth, AnIdleInterfaceIsWell) {
  link(false, false);
  ASSERT_TRUE(start());
  EXPECT_EQ(stated(cause::kLink), "OK");
}

TEST_P(NicHealth, WhatWasStatedRemainsWhileTheInterfaceIsInAPod) {
  ASSERT_TRUE(start());
  link(true, false);
  EXPECT_THAT(stated(cause::kLink), HasSubstr("NoCarrier"));
  tree.move_away("enp65s0", kPhysical);
  EXPECT_EQ(stated(cause::kLink), "");
}

TEST_P(NicHealth, AnRdmaPortFollowsItsLink) {
  rdma_port("4: ACTIVE");
  ASSERT_TRUE(start());
  EXPECT_EQ(stated(cause::kRdmaPort), "OK");
  rdma_port("1: DOWN");
  EXPECT_EQ(stated(cause::kRdmaPort), "PortNotActive: mlx5_0 port 1 is DOWN");
  link(false, false);
  EXPECT_EQ(stated(cause::kRdmaPort), "OK") << "it is down because the interface is not turned on";
}

TEST_P(NicHealth, ACardThatLeftTheBusTakesItsVirtualFunctionsAlong) {
  tree.attribute(kPhysical, "sriov_numvfs", "1\n");
  tree.card(kVirtual, "mlx5_core");
  tree.attribute(kVirtual, "config", "\xff\xff\xff\xff");  // as always on virtual functions
  tree.virtual_function(kPhysical, 0, kVirtual);
  ASSERT_TRUE(start());
  EXPECT_EQ(stated(cause::kAccess, kVirtual), "OK");
  tree.attribute(kPhysical, "config", "\xff\xff\xff\xff");
  EXPECT_THAT(stated(cause::kAccess, kVirtual),
              HasSubstr("Lost: the configuration space of 0000:41:00.0 reads as ones"));
}

TEST_P(NicHealth, ASlowPcieLinkIsDegraded) {
  tree.attribute(kPhysical, "current_link_width", "8\n");
  tree.attribute(kPhysical, "max_link_width", "16\n");
  ASSERT_TRUE(start());
  EXPECT_EQ(stated(cause::kPcieLink), "SlowLink: 8 of 16 lanes are in use");
  tree.attribute(kPhysical, "current_link_width", "16\n");
  tree.attribute(kPhysical, "current_link_speed", "2.5 GT/s PCIe\n");
  tree.attribute(kPhysical, "max_link_speed", "16.0 GT/s PCIe\n");
  EXPECT_EQ(stated(cause::kPcieLink), "SlowLink: it runs at 2.5 of 16.0 GT/s");
  tree.attribute(kPhysical, "current_link_speed", "16.0 GT/s PCIe\n");
  EXPECT_EQ(stated(cause::kPcieLink), "OK");
}

TEST_P(NicHealth, OnlyNewPcieErrorsCount) {
  nonfatal_errors("7");
  ASSERT_TRUE(start());
  EXPECT_EQ(stated(cause::kPcieErrors), "OK");
  nonfatal_errors("9");
  EXPECT_EQ(stated(cause::kPcieErrors), "NonFatalError: PCIe errors that were not corrected: 2");
  EXPECT_EQ(stated(cause::kPcieErrors), "") << "silence ends it";
}

}  // namespace
}  // namespace cardcage
