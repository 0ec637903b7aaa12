// Tests the state that a claim keeps for its interfaces, also in the formats of earlier versions of the module.
#include "modules/nic/kept_interface.h"

#include <gmock/gmock.h>

namespace cardcage::nic {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

KeptInterface interface_named(const std::string& name) {
  KeptInterface kept;
  kept.device = "0000:01:10.0";
  kept.netdev.name = name;
  kept.netdev.mac = "02:00:00:00:00:01";
  kept.index = 7;
  kept.sysctls = {"ipv4.conf.forwarding=1"};
  return kept;
}

TEST(NicKeptInterface, KeepsTheRdmaDevicesThatMoveWithIt) {
  KeptInterface first = interface_named("eth1"), second = interface_named("eth2");
  first.rdma = {{.index = 0, .name = "mlx5_0"}, {.index = 4, .name = "mlx5_1"}};
  const auto read = interfaces_from(to_state({first, second}), kStateVersion);
  ASSERT_THAT(read, SizeIs(2));
  EXPECT_EQ(read[0].rdma, first.rdma);
  EXPECT_THAT(read[1].rdma, IsEmpty());
  EXPECT_EQ(read[1].netdev.name, "eth2");
}

TEST(NicKeptInterface, ReadsVersion1) {
  std::string state = to_state({interface_named("eth1")});
  constexpr std::string_view kNoRdma("0\0", 2);
  ASSERT_TRUE(state.ends_with(kNoRdma));
  state.resize(state.size() - kNoRdma.size());
  const auto read = interfaces_from(state, 1);
  ASSERT_THAT(read, SizeIs(1));
  EXPECT_EQ(read[0].netdev.name, "eth1");
  EXPECT_EQ(read[0].index, 7U);
  EXPECT_THAT(read[0].sysctls, ElementsAre("ipv4.conf.forwarding=1"));
  EXPECT_THAT(read[0].rdma, IsEmpty());
}

}  // namespace
}  // namespace cardcage::nic
