// Tests discovery, claims and releases of the FPGA module on the kernel's own drivers.
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "host/core/unique_fd.h"
#include "host/serving/topology.h"
#include "tests/qemu/fpga_machine.h"

namespace cardcage {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;

INSTANTIATE_TEST_SUITE_P(Isolation, FpgaMachine, ::testing::Values(Isolation::kProcess), name_of_isolation);

TEST_P(FpgaMachine, FindsTheCardsAndTheManager) {
  EXPECT_THAT(names(), ElementsAre(kN3000Port, "fpga-0000-02-00-0", "fpga-0000-02-00-0-p0", "fpga-0000-02-00-0-p1",
                                   "fpga-0000-02-00-0-p2", "fpga-0000-02-00-0-p3", "fpga-pcap"));
  const Device port = device(kN3000Port);
  EXPECT_EQ(port.health.state, HealthState::kHealthy);
  EXPECT_THAT(attributes_of(port),
              IsSupersetOf<std::string>({"type=port", "model=N3000", "card=" + kN3000, "portId=0", "programmable=true",
                                         std::string("interfaceId=") + fake_fpga::kN3000Interface,
                                         std::string("afuId=") + fake_fpga::kN3000Afu, "shellId=0x23000410010310",
                                         "shellVersion=version 0.2.3"}));
  EXPECT_THAT(attributes_of(device("fpga-0000-02-00-0-p3")),
              IsSupersetOf<std::string>({"portId=3", "interfaceId=" + kFourPortsInterface}));
  EXPECT_THAT(attributes_of(device("fpga-pcap")), Contains("manager=Xilinx ZynqMP FPGA Manager"));
}

TEST_P(FpgaMachine, CardsHaveAPlaceInTheMachine) {
  const auto placed = [](const std::string& bus_id) {
    Device device;
    device.pci_bus_id = bus_id;
    Topology("/sys", NumaAttribute::kScalar).add_to(device);
    return attributes_of(device);
  };
  EXPECT_THAT(placed(kN6001), IsSupersetOf<std::string>(
                                  {"resource.kubernetes.io/numaNode=1", "resource.kubernetes.io/pcieRoot=pci0000:40"}));
  EXPECT_THAT(placed(kN3000), Contains("resource.kubernetes.io/pcieRoot=pci0000:00"));
  EXPECT_TRUE(std::filesystem::exists("/sys/bus/pci/devices/" + kN3000 + "/iommu_group"));
}

TEST_P(FpgaMachine, AClaimProgramsAPort) {
  add_bitstream("nlb0", fake_fpga::kNlb0);
  ModuleClaim wanted = claim_of("u1", {kN3000Port}, R"("bitstream":"nlb0")");
  const auto prepared = prepare_slowly(wanted);
  ASSERT_TRUE(prepared) << prepared.error().message;
  EXPECT_EQ(function_of(kN3000), fake_fpga::kNlb0);
  EXPECT_EQ(text_of(control_file("n3000", "words")), "1250") << "5000 bytes, without the header";
  EXPECT_EQ(manager_state(kN3000), "operating");
  ASSERT_EQ(prepared->allocations.front().device_nodes.size(), 1u);
  const DeviceNode& node = prepared->allocations.front().device_nodes.front();
  EXPECT_EQ(node.path, port_node(kN3000));
  struct stat real{};
  ASSERT_EQ(::stat(node.path.c_str(), &real), 0);
  EXPECT_EQ(node.major, major(real.st_rdev));
  EXPECT_EQ(node.minor, minor(real.st_rdev));
  EXPECT_THAT(prepared->allocations.front().env, ElementsAre(EnvVar{"FPGA_0000_01_00_0_P0", fake_fpga::kNlb0}));
  EXPECT_THAT(attributes_of(device(kN3000Port)), Contains(std::string("afuId=") + fake_fpga::kNlb0));
  const Status released = unprepare_slowly(wanted);
  EXPECT_TRUE(released) << released.error().message;
}

TEST_P(FpgaMachine, ThePortsOfACardAreProgrammedByThemselves) {
  add_bitstream("nlb3", fake_fpga::kNlb3, kFourPortsInterface);
  ModuleClaim wanted = claim_of("u1", {"fpga-0000-02-00-0-p2"}, R"("bitstream":"nlb3")");
  const auto prepared = prepare_slowly(wanted);
  ASSERT_TRUE(prepared) << prepared.error().message;
  EXPECT_EQ(function_of(kFourPorts, 2), fake_fpga::kNlb3);
  for (const std::size_t other : {0u, 1u, 3u}) EXPECT_EQ(function_of(kFourPorts, other), fake_fpga::kNlb0) << other;
}

TEST_P(FpgaMachine, AnotherInterfaceIsRefusedBeforeTheEngineIsOpened) {
  add_bitstream("foreign", fake_fpga::kNlb0, fake_fpga::kD5005Interface);
  add_bitstream("nlb0", fake_fpga::kNlb0);
  const UniqueFd watch(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  ASSERT_GE(::inotify_add_watch(watch.get(), engine_node(kN3000).c_str(), IN_OPEN), 0);
  const auto was_opened = [&watch] {
    char events[4096];
    return ::read(watch.get(), events, sizeof events) > 0;
  };
  EXPECT_THAT(refusal_of(claim_of("u1", {kN3000Port}, R"("bitstream":"foreign")")),
              HasSubstr("it was made for the interface bfac4d851ee856fe8c95865ce1bbaa2d"));
  EXPECT_FALSE(was_opened());
  ModuleClaim fits = claim_of("u2", {kN3000Port}, R"("bitstream":"nlb0")");
  ASSERT_TRUE(prepare_slowly(fits));
  EXPECT_TRUE(was_opened());
}

TEST_P(FpgaMachine, AProgrammingThatFailsFencesThePortUntilAClaimRepairsIt) {
  add_bitstream("nlb0", fake_fpga::kNlb0);
  control("n3000", "fail", "1");
  EXPECT_THAT(refusal_of(claim_of("u1", {kN3000Port}, R"("bitstream":"nlb0")")),
              AllOf(HasSubstr("Input/output error"), HasSubstr("reconfig CRC error")));
  EXPECT_EQ(device(kN3000Port).health.reason, "NotProgrammed");
  EXPECT_EQ(function_of(kN3000), "") << "the kernel keeps the port disabled";
  EXPECT_THAT(refusal_of(claim_of("u2", {kN3000Port})), HasSubstr("must be programmed again"));
  ModuleClaim repairs = claim_of("u3", {kN3000Port}, R"("bitstream":"nlb0")");
  const auto repaired = prepare_slowly(repairs);
  ASSERT_TRUE(repaired) << repaired.error().message;
  EXPECT_EQ(function_of(kN3000), fake_fpga::kNlb0);
  EXPECT_EQ(device(kN3000Port).health.state, HealthState::kHealthy);
}

TEST_P(FpgaMachine, AHungProgrammingHoldsUpNoClaimOnAnotherCard) {
  add_bitstream("a", fake_fpga::kNlb0);
  add_bitstream("b", fake_fpga::kNlb3, kFourPortsInterface);
  ModuleClaim one = claim_of("u1", {kN3000Port}, R"("bitstream":"a")");
  ModuleClaim other = claim_of("u2", {kFourPortsFirst}, R"("bitstream":"b")");
  control("n3000", "hold", "1");
  const auto held = begin(preparing(one, patiently()));
  ASSERT_TRUE(happens([&] { return manager_state(kN3000) == "write complete"; }));
  EXPECT_EQ(device(kN3000Port).health.state, HealthState::kHealthy);
  const auto prepared = prepare_slowly(other);
  ASSERT_TRUE(prepared) << prepared.error().message;
  EXPECT_EQ(function_of(kFourPorts), fake_fpga::kNlb3);
  EXPECT_FALSE(held->has_value());
  control("n3000", "hold", "0");
  ASSERT_TRUE(happens([&] { return held->has_value(); }));
  ASSERT_TRUE(**held) << (**held).error().message;
  EXPECT_EQ(function_of(kN3000), fake_fpga::kNlb0);
}

TEST_P(FpgaMachine, AProgrammingThatNeverEndsTimesOut) {
  add_bitstream("nlb0", fake_fpga::kNlb0);
  control("n3000", "hold", "1");
  EXPECT_THAT(refusal_of(claim_of("u1", {kN3000Port}, R"("bitstream":"nlb0")")), HasSubstr("timed out"));
  EXPECT_EQ(device(kN3000Port).health.reason, "NotProgrammed");
  EXPECT_EQ(manager_state(kN3000), "write complete error");
  EXPECT_EQ(text_of(card(kN3000).engine.value().manager / "status"), "") << "the hardware reports no error";
  control("n3000", "hold", "0");
  ModuleClaim repairs = claim_of("u2", {kN3000Port}, R"("bitstream":"nlb0")");
  const auto repaired = prepare_slowly(repairs);
  ASSERT_TRUE(repaired) << repaired.error().message;
  EXPECT_EQ(function_of(kN3000), fake_fpga::kNlb0);
}

TEST_P(FpgaMachine, APortThatAProcessHasOpenIsNotTaken) {
  add_bitstream("nlb0", fake_fpga::kNlb0);
  const UniqueFd holder = open_node(port_node(kN3000));
  ASSERT_TRUE(holder);
  EXPECT_THAT(refusal_of(claim_of("u1", {kN3000Port})), HasSubstr("is in use"));
  EXPECT_THAT(refusal_of(claim_of("u2", {kN3000Port}, R"("bitstream":"nlb0")")), HasSubstr("is in use"));
  EXPECT_EQ(function_of(kN3000), fake_fpga::kN3000Afu);
}

// Linux 6.12 crashes if the driver is unbound while a descriptor is open, when that is closed.
TEST_P(FpgaMachine, TheDriverIsNotBoundAnewWhileAPortOrTheEngineIsOpen) {
  add_bitstream("nlb0", fake_fpga::kNlb0);
  control("n3000", "fail", "1");
  ModuleClaim failed = claim_of("u1", {kN3000Port}, R"("bitstream":"nlb0")");
  EXPECT_THAT(refusal_of(failed), HasSubstr("reconfig CRC error"));
  ModuleClaim repairs = claim_of("u2", {kN3000Port}, R"("bitstream":"nlb0")");
  for (const std::filesystem::path& node : {port_node(kN3000), engine_node(kN3000)}) {
    const UniqueFd held = open_node(node);
    ASSERT_TRUE(held) << node;
    const auto refused = AllOf(HasSubstr("the driver of card 0000:01:00.0 cannot be bound again: "),
                               HasSubstr(node.native()), HasSubstr("is in use; end the process that has it open"));
    EXPECT_THAT(refusal_of(repairs), refused);
    const Status released = unprepare_slowly(failed);
    ASSERT_FALSE(released);
    EXPECT_THAT(released.error().message, refused);
  }
  const Status released = unprepare_slowly(failed);
  ASSERT_TRUE(released) << released.error().message;
  const auto repaired = prepare_slowly(repairs);
  ASSERT_TRUE(repaired) << repaired.error().message;
  EXPECT_EQ(function_of(kN3000), fake_fpga::kNlb0);
}

TEST_P(FpgaMachine, ErrorsOfThePortAreClearedAtTheRelease) {
  ModuleClaim wanted = claim_of("u1", {kN3000Port});
  ASSERT_TRUE(prepare_slowly(wanted));
  control("n3000", "port0/errors", "0x24");
  ASSERT_EQ(text_of(card(kN3000).ports.front().folder / "errors/errors"), "0x24");
  const Status released = unprepare_slowly(wanted);
  ASSERT_TRUE(released) << released.error().message;
  EXPECT_EQ(text_of(card(kN3000).ports.front().folder / "errors/errors"), "0x0");
}

TEST_P(FpgaMachine, AFunctionThatReadsAsOnesIsACrash) {
  for (const char* half : {"port0/afu_low", "port0/afu_high"}) control("n3000", half, "0xffffffffffffffff");
  EXPECT_EQ(function_of(kN3000), fake_fpga::kAllOnes);
  EXPECT_EQ(device(kN3000Port).health.reason, "ShellCrashed");
}

TEST_P(FpgaMachine, ACardThatIsPulledWhileItIsClaimedIsReleasedAndComesBack) {
  add_bitstream("nlb0", fake_fpga::kNlb0);
  ModuleClaim wanted = claim_of("u1", {kN3000Port}, R"("bitstream":"nlb0")");
  ASSERT_TRUE(prepare_slowly(wanted));
  control("n3000", "plugged", "0");
  EXPECT_THAT(names(), AllOf(Not(Contains(kN3000Port)), Contains(kFourPortsFirst)));
  const Status released = unprepare_slowly(wanted);
  EXPECT_TRUE(released) << released.error().message;
  control("n3000", "plugged", "1");
  EXPECT_THAT(names(), Contains(kN3000Port));
  ModuleClaim next = claim_of("u2", {kN3000Port}, R"("bitstream":"nlb0")");
  const auto prepared = prepare_slowly(next);
  ASSERT_TRUE(prepared) << prepared.error().message;
  EXPECT_EQ(function_of(kN3000), fake_fpga::kNlb0);
}

TEST_P(FpgaMachine, WhatACardHadIsPreparedAnewIfItComesBackWhileItIsClaimed) {
  add_bitstream("nlb0", fake_fpga::kNlb0);
  ModuleClaim wanted = claim_of("u1", {kN3000Port}, R"("bitstream":"nlb0")");
  ASSERT_TRUE(prepare_slowly(wanted));
  control("n3000", "plugged", "0");
  control("n3000", "plugged", "1");
  EXPECT_EQ(function_of(kN3000), fake_fpga::kN3000Afu);
  ASSERT_TRUE(prepare_slowly(wanted));
  EXPECT_EQ(function_of(kN3000), fake_fpga::kNlb0);
  const Status released = unprepare_slowly(wanted);
  EXPECT_TRUE(released) << released.error().message;
}

class FpgaManagerMachine : public FpgaMachine {
 protected:
  static constexpr const char* kClaim = R"("bitstream":"filter")";
  static std::filesystem::path manager() {
    for (const auto& entry : std::filesystem::directory_iterator("/sys/class/fpga_manager"))
      if (std::filesystem::exists(entry.path() / "firmware")) return entry.path();
    return "";
  }
};
INSTANTIATE_TEST_SUITE_P(Isolation, FpgaManagerMachine, ::testing::Values(Isolation::kProcess), name_of_isolation);

TEST_P(FpgaManagerMachine, TakesAFile) {
  add_file("filter", "filter.bit.bin", std::string(70000, '\x5a'), "nodes = [\"/dev/null\"]\n");
  ModuleClaim wanted = claim_of("u1", {"fpga-pcap"}, kClaim);
  const auto prepared = prepare_slowly(wanted);
  ASSERT_TRUE(prepared) << prepared.error().message;
  EXPECT_EQ(text_of(control_file("manager", "bytes")), "70000");
  EXPECT_EQ(text_of(manager() / "state"), "operating");
}

TEST_P(FpgaManagerMachine, AFileThatIsMissingIsRefused) {
  const auto file = add_file("filter", "filter.bit.bin", "bits", "nodes = [\"/dev/null\"]\n");
  std::filesystem::remove(file);
  EXPECT_THAT(refusal_of(claim_of("u1", {"fpga-pcap"}, kClaim)), HasSubstr("filter.bit.bin"));
  EXPECT_EQ(device("fpga-pcap").health.state, HealthState::kHealthy) << "nothing was programmed";
}

TEST_P(FpgaManagerMachine, AFileThatFailsFencesItUntilAnotherIsLoaded) {
  add_file("filter", "filter.bit.bin", "bits", "nodes = [\"/dev/null\"]\n");
  control("manager", "fail", "1");
  EXPECT_THAT(refusal_of(claim_of("u1", {"fpga-pcap"}, kClaim)),
              AllOf(HasSubstr("Input/output error"), HasSubstr("state 'write error'")));
  EXPECT_EQ(device("fpga-pcap").health.reason, "NotProgrammed");
  control("manager", "fail", "0");
  ModuleClaim repairs = claim_of("u2", {"fpga-pcap"}, kClaim);
  const auto repaired = prepare_slowly(repairs);
  ASSERT_TRUE(repaired) << repaired.error().message;
  EXPECT_EQ(device("fpga-pcap").health.state, HealthState::kHealthy);
}

}  // namespace
}  // namespace cardcage
