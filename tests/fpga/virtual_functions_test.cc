// Tests claims for ports as virtual functions: released, given through VFIO, and taken back.
#include <fcntl.h>

#include "host/core/unique_fd.h"
#include "tests/fpga/fpga_fixture.h"

namespace cardcage {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char *kCard = "0000:3b:00.0", *kFunction = "0000:3b:00.1", *kFourPorts = "0000:5e:00.0";
constexpr const char* kAsFunction = R"("virtualFunctions":true)";

class FpgaVirtualFunctions : public FpgaFixture {
 protected:
  Status start_on_n3000() { return start_on({fake_fpga::with_virtual_functions(fake_fpga::n3000())}); }
  std::string driver_of(const std::string& function) const {
    std::error_code none;
    return std::filesystem::read_symlink(cards->function(function) / "driver", none).filename();
  }
  std::filesystem::path group_of(const std::string& function) const {
    return cards->devfs() / "vfio" / std::filesystem::canonical(cards->function(function) / "iommu_group").filename();
  }
  bool is_home(const char* address, unsigned port = 0) const {
    const fake_fpga::Card card = cards->look(address);
    return card.virtual_functions == 0 && !card.dfl->ports[port].released;
  }
  static std::vector<std::string> nodes_of(const PreparedEdits& prepared) {
    std::vector<std::string> nodes;
    for (const DeviceNode& node : prepared.allocations.front().device_nodes) nodes.push_back(node.path);
    return nodes;
  }
  std::string refusal_of(ModuleClaim wanted) {
    const auto refused = prepare(wanted);
    EXPECT_FALSE(refused);
    return refused ? "" : refused.error().message;
  }
};
INSTANTIATE_TEST_SUITE_P(Isolation, FpgaVirtualFunctions, ::testing::Values(Isolation::kInProcess, Isolation::kProcess),
                         name_of_isolation);

TEST_P(FpgaVirtualFunctions, APortIsReleasedAndGivenThroughVfio) {
  ASSERT_TRUE(start_on_n3000());
  add_bitstream("nlb0", fake_fpga::kNlb0);
  auto wanted = claim_of("u1", {kN3000}, R"("virtualFunctions":true,"bitstream":"nlb0")");
  const auto prepared = prepare(wanted);
  ASSERT_TRUE(prepared) << prepared.error().message;
  EXPECT_THAT(changes(),
              ElementsAre(HasSubstr("FME_PORT_PR"), HasSubstr("FME_PORT_RELEASE"), EndsWith("sriov_numvfs: 1"),
                          HasSubstr("driver_override: vfio-pci"), HasSubstr("unbind"), HasSubstr("drivers_probe")));
  EXPECT_EQ(driver_of(kFunction), "vfio-pci");
  EXPECT_THAT(nodes_of(*prepared),
              ElementsAre("/dev/vfio/" + group_of(kFunction).filename().native(), "/dev/vfio/vfio"));
  EXPECT_EQ(cards->look(kCard).dfl->ports[0].afu_id, fake_fpga::kNlb0);

  cards->clear_log();
  const Status released = unprepare(wanted);
  ASSERT_TRUE(released) << released.error().message;
  EXPECT_THAT(changes(), AllOf(Contains(EndsWith("sriov_numvfs: 0")), Contains(HasSubstr("FME_PORT_ASSIGN")),
                               Contains(HasSubstr("PORT_RESET"))));
  EXPECT_TRUE(is_home(kCard));
  EXPECT_TRUE(unprepare(wanted)) << "again, as the kubelet may";
}

TEST_P(FpgaVirtualFunctions, TheDeviceStaysListedMeanwhileAndNoOtherAppears) {
  ASSERT_TRUE(start_on_n3000());
  auto wanted = claim_of("u1", {kN3000}, kAsFunction);
  ASSERT_TRUE(prepare(wanted));
  EXPECT_THAT(names(), ElementsAre(kN3000));
  EXPECT_EQ(device(kN3000).health.state, HealthState::kHealthy);
  ASSERT_TRUE(start_again());
  ASSERT_TRUE(run(module->call(ReconcileCall{{wanted}}, soon())));
  EXPECT_THAT(names(), ElementsAre(kN3000)) << "a new instance learns of it from the claim";
  ASSERT_TRUE(unprepare(wanted));
  EXPECT_THAT(names(), ElementsAre(kN3000));
  EXPECT_TRUE(is_home(kCard));
}

TEST_P(FpgaVirtualFunctions, APreparedClaimIsLeftAlone) {
  ASSERT_TRUE(start_on_n3000());
  auto wanted = claim_of("u1", {kN3000}, kAsFunction);
  const auto first = prepare(wanted);
  ASSERT_TRUE(first);
  const UniqueFd container(::open(group_of(kFunction).c_str(), O_RDWR | O_CLOEXEC));
  cards->clear_log();
  const auto again = prepare(wanted);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(nodes_of(*again), nodes_of(*first));
  EXPECT_THAT(changes(), IsEmpty());
}

TEST_P(FpgaVirtualFunctions, AllPortsOfACardGoTogether) {
  ASSERT_TRUE(start_on({fake_fpga::with_virtual_functions(fake_fpga::four_ports())}));
  EXPECT_THAT(refusal_of(claim_of("u1", {"fpga-0000-5e-00-0-p1"}, kAsFunction)),
              HasSubstr("ask for the card as a whole"));
  auto whole = claim_of("u2", {"fpga-0000-5e-00-0"}, kAsFunction);
  const auto prepared = prepare(whole);
  ASSERT_TRUE(prepared) << prepared.error().message;
  EXPECT_EQ(cards->look(kFourPorts).virtual_functions, 4u);
  EXPECT_EQ(nodes_of(*prepared).size(), 5u) << "four groups and /dev/vfio/vfio";
  EXPECT_THAT(names(), Contains("fpga-0000-5e-00-0-p3")) << "the parts stay listed";
  const Status released = unprepare(whole);
  ASSERT_TRUE(released) << released.error().message;
  for (unsigned port = 0; port < 4; ++port) EXPECT_TRUE(is_home(kFourPorts, port)) << port;
}

TEST_P(FpgaVirtualFunctions, AFunctionThatAContainerStillHasIsNotTakenBack) {
  ASSERT_TRUE(start_on_n3000());
  auto wanted = claim_of("u1", {kN3000}, kAsFunction);
  ASSERT_TRUE(prepare(wanted));
  UniqueFd container(::open(group_of(kFunction).c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_TRUE(container);
  const Status refused = unprepare(wanted);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("/dev/vfio/"));
  EXPECT_EQ(cards->look(kCard).virtual_functions, 1u) << "the kernel would wait for the container forever";
  container = UniqueFd();
  EXPECT_TRUE(unprepare(wanted));
  EXPECT_TRUE(is_home(kCard));
}

TEST_P(FpgaVirtualFunctions, APrepareThatFailsHalfwayGivesThePortBack) {
  may_bind_drivers = false;
  ASSERT_TRUE(start_on_n3000());
  auto wanted = claim_of("u1", {kN3000}, kAsFunction);
  EXPECT_THAT(refusal_of(wanted), HasSubstr("driver_override"));
  EXPECT_THAT(changes(), AllOf(Contains(HasSubstr("FME_PORT_RELEASE")), Contains(HasSubstr("FME_PORT_ASSIGN"))));
  EXPECT_TRUE(is_home(kCard));
}

TEST_P(FpgaVirtualFunctions, WhatTheJournalTellsOfIsTakenBack) {
  ASSERT_TRUE(start_on_n3000());
  auto wanted = claim_of("u1", {kN3000}, kAsFunction);
  ASSERT_TRUE(prepare(wanted));
  wanted.state.clear();  // the state of a daemon that was killed before the end
  ASSERT_TRUE(start_again());
  ASSERT_TRUE(unprepare(wanted));
  EXPECT_TRUE(is_home(kCard));
  EXPECT_THAT(names(), ElementsAre(kN3000));
}

TEST_P(FpgaVirtualFunctions, APortThatCouldNotBeTakenBackIsRepairedByTheNextClaim) {
  ASSERT_TRUE(start_on_n3000());
  add_bitstream("nlb0", fake_fpga::kNlb0);
  auto wanted = claim_of("u1", {kN3000}, kAsFunction);
  ASSERT_TRUE(prepare(wanted));
  // Leaves the fence of the last attempt to release the claim.
  std::filesystem::create_directories(fences());
  write(fences() / "0000:3b:00.0_0000:3b:00.0-port-0", "it is in use\ndevice 0000:3b:00.0/port-0\nport 0\n");
  ASSERT_TRUE(start_again());
  ASSERT_TRUE(run(module->call(ReconcileCall{{}}, soon())));
  EXPECT_THAT(names(), ElementsAre(kN3000));
  EXPECT_EQ(device(kN3000).health.reason, "NotProgrammed");
  auto next = claim_of("u2", {kN3000}, R"("bitstream":"nlb0")");
  const auto prepared = prepare(next);
  ASSERT_TRUE(prepared) << prepared.error().message;
  EXPECT_TRUE(is_home(kCard));
  EXPECT_EQ(device(kN3000).health.state, HealthState::kHealthy);
}

TEST_P(FpgaVirtualFunctions, CardsThatCannotBeSharedSoAreRefused) {
  ASSERT_TRUE(start_on({fake_fpga::n3000(), fake_fpga::n6001(), fake_fpga::u250()}));
  EXPECT_THAT(refusal_of(claim_of("u1", {kN3000}, kAsFunction)),
              HasSubstr("fewer virtual functions than it has ports"));
  EXPECT_THAT(refusal_of(claim_of("u2", {"fpga-0000-b1-00-0"}, kAsFunction)), HasSubstr("leave virtualFunctions out"));
  EXPECT_THAT(refusal_of(claim_of("u3", {"fpga-0000-65-00-1"}, kAsFunction)), HasSubstr("only ports of DFL cards"));
  EXPECT_THAT(changes(), IsEmpty());
}

TEST_P(FpgaVirtualFunctions, AnOperatorDoesNotResetThemMeanwhile) {
  ASSERT_TRUE(start_on_n3000());
  auto wanted = claim_of("u1", {kN3000}, kAsFunction);
  ASSERT_TRUE(prepare(wanted));
  const Status refused = run(module->call(ResetCall{"0000:3b:00.0/port-0"}, soon()));
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("a claim holds the port as a virtual function"));
}

}  // namespace
}  // namespace cardcage
