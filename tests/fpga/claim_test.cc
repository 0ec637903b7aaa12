// Tests claims for a loaded function, and claims that load one.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "host/core/unique_fd.h"
#include "tests/fakes/proc.h"
#include "tests/fpga/fpga_fixture.h"

namespace cardcage {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class FpgaClaims : public FpgaFixture {
 protected:
  std::string function_of(const std::string& address, unsigned port = 0) const {
    return cards->look(address).port(port)->afu_id.value_or("");
  }
  // Returns the text of the error.
  std::string refusal_of(ModuleClaim claim) {
    const auto prepared = prepare(claim);
    EXPECT_FALSE(prepared);
    return prepared ? std::string() : prepared.error().message;
  }
};
INSTANTIATE_TEST_SUITE_P(Isolation, FpgaClaims, ::testing::Values(Isolation::kInProcess, Isolation::kProcess),
                         name_of_isolation);

TEST_P(FpgaClaims, ALoadedFunctionIsHandedOutAfterAReset) {
  ASSERT_TRUE(start_on({fake_fpga::n3000()}));
  auto wanted = claim_of("u1", {kN3000}, R"("function":"9AEFFE5F-8457-0612-C000-C9660D824272")");
  const auto prepared = prepare(wanted);
  ASSERT_TRUE(prepared) << prepared.error().message;
  const std::string node = cards->port_node("0000:3b:00.0").filename();
  EXPECT_THAT(changes(), ElementsAre("ioctl " + node + " PORT_RESET"));
  ASSERT_EQ(prepared->allocations.size(), 1u);
  const Edits& edits = prepared->allocations.front();
  ASSERT_EQ(edits.device_nodes.size(), 1u);
  EXPECT_EQ(edits.device_nodes.front().path, "/dev/" + node);
  EXPECT_EQ(edits.device_nodes.front().permissions, "rw");
  EXPECT_EQ(edits.device_nodes.front().type, "c");
  EXPECT_THAT(edits.env, ElementsAre(EnvVar{"FPGA_0000_3B_00_0_P0", fake_fpga::kN3000Afu}));
}

TEST_P(FpgaClaims, AnotherFunctionThanWantedIsRefusedAndNothingIsTouched) {
  ASSERT_TRUE(start_on({fake_fpga::n3000()}));
  EXPECT_EQ(
      refusal_of(claim_of("u1", {kN3000}, fmt::format(R"("function":"{}")", fake_fpga::kNlb0))),
      fmt::format("module 'm' cannot prepare: device '0000:3b:00.0/port-0' (N3000) does not have the function {}: "
                  "{} is loaded; select devices by the attribute afuId, or name a bitstream with that function "
                  "in the claim",
                  fake_fpga::kNlb0, fake_fpga::kN3000Afu));
  EXPECT_THAT(changes(), IsEmpty());
}

TEST_P(FpgaClaims, ABitstreamOfTheCatalogueIsLoadedAndItsFunctionReadBack) {
  ASSERT_TRUE(start_on({fake_fpga::n3000()}));
  add_bitstream("nlb0", fake_fpga::kNlb0);
  auto wanted = claim_of("u1", {kN3000}, R"("bitstream":"nlb0")");
  const auto prepared = prepare(wanted);
  ASSERT_TRUE(prepared) << prepared.error().message;
  EXPECT_EQ(function_of("0000:3b:00.0"), fake_fpga::kNlb0);
  EXPECT_EQ(cards->last_payload(), fake_payload(fake_fpga::kNlb0, 5000)) << "the data without the header";
  EXPECT_THAT(changes(), ElementsAre("ioctl " + cards->fme_node("0000:3b:00.0").filename().native() + " FME_PORT_PR"));
  EXPECT_THAT(attributes_of(device(kN3000)), Contains(std::string("afuId=") + fake_fpga::kNlb0));
  EXPECT_TRUE(eventually([&] {
    let_news_pass();
    return rescans > 0;
  }));

  cards->clear_log();
  EXPECT_TRUE(prepare(wanted)) << "again, as the kubelet may";
  EXPECT_THAT(changes(), IsEmpty()) << "containers are using it";
}

TEST_P(FpgaClaims, AFunctionThatIsLoadedAlreadyIsNotLoadedAgainUnlessTheClaimSaysSo) {
  ASSERT_TRUE(start_on({fake_fpga::n3000()}));
  add_bitstream("own", fake_fpga::kN3000Afu);
  auto wanted = claim_of("u1", {kN3000}, R"("bitstream":"own")");
  ASSERT_TRUE(prepare(wanted));
  EXPECT_THAT(changes(), Not(Contains(HasSubstr("FME_PORT_PR"))));
  ASSERT_TRUE(unprepare(wanted));
  auto always = claim_of("u2", {kN3000}, R"("bitstream":"own","reprogram":"Always")");
  ASSERT_TRUE(prepare(always));
  EXPECT_THAT(changes(), Contains(HasSubstr("FME_PORT_PR")));
}

TEST_P(FpgaClaims, WhatDoesNotFitIsRefusedBeforeAnythingIsTouched) {
  ASSERT_TRUE(start_on({fake_fpga::n3000()}));
  add_bitstream("foreign", fake_fpga::kNlb0, fake_fpga::kD5005Interface);
  add_bitstream("other-card", fake_fpga::kNlb0, fake_fpga::kN3000Interface, "card = \"D5005\"\n");
  EXPECT_THAT(refusal_of(claim_of("u1", {kN3000}, R"("bitstream":"foreign")")),
              AllOf(HasSubstr("bitstream 'foreign' cannot be loaded into card 0000:3b:00.0: it was made for the "
                              "interface bfac4d851ee856fe8c95865ce1bbaa2d"),
                    HasSubstr("the shell of the card has a5d72a3cc8b04939912cf715e5dc10ca")));
  EXPECT_THAT(refusal_of(claim_of("u2", {kN3000}, R"("bitstream":"other-card")")), HasSubstr("is for D5005"));
  EXPECT_THAT(refusal_of(claim_of("u3", {kN3000}, R"("bitstream":"foreing")")), HasSubstr("foreign"));
  EXPECT_THAT(refusal_of(claim_of("u4", {kN3000}, R"("bitstream":"../../etc/passwd")")), HasSubstr("catalogue"));
  EXPECT_THAT(changes(), IsEmpty());
}

TEST_P(FpgaClaims, AFileThatWasChangedIsRefusedByTheProcessThatWouldWriteIt) {
  ASSERT_TRUE(start_on({fake_fpga::n3000()}));
  const auto file = add_bitstream("nlb0", fake_fpga::kNlb0);
  std::fstream changed(file, std::ios::binary | std::ios::in | std::ios::out);
  changed.seekp(-1, std::ios::end);
  changed.put('!').flush();
  EXPECT_THAT(refusal_of(claim_of("u1", {kN3000}, R"("bitstream":"nlb0")")), HasSubstr("SHA-256"));
  EXPECT_THAT(changes(), Not(Contains(HasSubstr("FME_PORT_PR"))));
  EXPECT_EQ(function_of("0000:3b:00.0"), fake_fpga::kN3000Afu);
  EXPECT_EQ(device(kN3000).health.state, HealthState::kHealthy) << "nothing was programmed, so nothing is fenced";
}

TEST_P(FpgaClaims, TheClassDecidesWhichBitstreamsClaimsMayName) {
  ASSERT_TRUE(start_on({fake_fpga::n3000()}));
  add_bitstream("nlb0", fake_fpga::kNlb0);
  const auto by_class = read_params(R"("allowedBitstreams":["crypto-*"])", "FpgaConfig", ConfigSource::kClass);
  auto wanted = claim_of("u1", {kN3000}, R"("bitstream":"nlb0")");
  const auto values = resolve_params(
      module->identity(), "port", {by_class, read_params(R"("bitstream":"nlb0")", "FpgaConfig", ConfigSource::kClaim)});
  ASSERT_TRUE(values) << values.error().message;
  wanted.allocations.front().values = *values;
  EXPECT_THAT(refusal_of(wanted), HasSubstr("the DeviceClass does not allow the bitstream 'nlb0'"));
  EXPECT_FALSE(decode_params(module->identity(), ConfigSource::kClaim,
                             R"({"apiVersion":"fpga.cardcage.dev/v1alpha1","kind":"FpgaConfig","blankBitstream":"x"})"))
      << "a field of the class in a claim";
}

TEST_P(FpgaClaims, APortThatSomebodyHasOpenIsNotTaken) {
  ASSERT_TRUE(start_on({fake_fpga::n3000()}));
  const UniqueFd holder(::open(cards->port_node("0000:3b:00.0").c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_TRUE(holder);
  EXPECT_THAT(refusal_of(claim_of("u1", {kN3000})),
              AllOf(HasSubstr("port 0 of card 0000:3b:00.0 cannot be reset"), HasSubstr("is in use")));
}

TEST_P(FpgaClaims, APortThatSomebodyHasOpenIsNotProgrammed) {
  ASSERT_TRUE(start_on({fake_fpga::n3000()}));
  add_bitstream("nlb0", fake_fpga::kNlb0);
  const UniqueFd holder(::open(cards->port_node("0000:3b:00.0").c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_TRUE(holder);
  EXPECT_THAT(refusal_of(claim_of("u1", {kN3000}, R"("bitstream":"nlb0")")), HasSubstr("is in use"));
  EXPECT_THAT(changes(), IsEmpty());
}

TEST_P(FpgaClaims, AProgrammingThatFailsFencesTheDeviceUntilItIsProgrammedAnew) {
  ASSERT_TRUE(start_on({fake_fpga::n3000()}));
  add_bitstream("nlb0", fake_fpga::kNlb0);
  cards->fail_next();
  auto wanted = claim_of("u1", {kN3000}, R"("bitstream":"nlb0")");
  EXPECT_THAT(refusal_of(wanted), AllOf(HasSubstr("bitstream 'nlb0' cannot be loaded into card 0000:3b:00.0, port 0"),
                                        HasSubstr("Input/output error"), HasSubstr("reconfig CRC error")));
  EXPECT_EQ(device(kN3000).health.reason, "NotProgrammed");
  ASSERT_TRUE(start_again()) << "the module or the daemon was killed";
  EXPECT_EQ(device(kN3000).health.reason, "NotProgrammed");
  EXPECT_THAT(refusal_of(claim_of("u2", {kN3000})), HasSubstr("must be programmed again"));
  auto repairs = claim_of("u3", {kN3000}, R"("bitstream":"nlb0")");
  const auto repaired = prepare(repairs);
  ASSERT_TRUE(repaired) << repaired.error().message;
  EXPECT_EQ(device(kN3000).health.state, HealthState::kHealthy);
}

TEST_P(FpgaClaims, APortThatTheKernelKeepsDisabledComesBackWithItsDriver) {
  keeps_disabled = true;
  ASSERT_TRUE(start_on({fake_fpga::n3000()}));
  add_bitstream("nlb0", fake_fpga::kNlb0);
  cards->fail_next();
  EXPECT_THAT(refusal_of(claim_of("u1", {kN3000}, R"("bitstream":"nlb0")")), HasSubstr("reconfig CRC error"));
  EXPECT_EQ(device(kN3000).health.reason, "NotProgrammed");
  auto repairs = claim_of("u2", {kN3000}, R"("bitstream":"nlb0")");
  const auto repaired = prepare(repairs);
  ASSERT_TRUE(repaired) << repaired.error().message;
  EXPECT_EQ(function_of("0000:3b:00.0"), fake_fpga::kNlb0);
  EXPECT_EQ(device(kN3000).health.state, HealthState::kHealthy);
}

// Unbinding would crash the kernel when the descriptor is closed.
TEST_P(FpgaClaims, ADriverIsNotUnboundWhileAPortOrTheEngineIsOpen) {
  keeps_disabled = true;
  ASSERT_TRUE(start_on({fake_fpga::n3000()}));
  add_bitstream("nlb0", fake_fpga::kNlb0);
  cards->fail_next();
  EXPECT_THAT(refusal_of(claim_of("u1", {kN3000}, R"("bitstream":"nlb0")")), HasSubstr("reconfig CRC error"));
  auto repairs = claim_of("u2", {kN3000}, R"("bitstream":"nlb0")");
  for (const std::filesystem::path& node : {cards->port_node("0000:3b:00.0"), cards->fme_node("0000:3b:00.0")}) {
    const UniqueFd held(::open(node.c_str(), O_RDWR | O_CLOEXEC));
    ASSERT_TRUE(held) << node;
    EXPECT_THAT(refusal_of(repairs),
                AllOf(HasSubstr("the driver of card 0000:3b:00.0 cannot be bound again: "),
                      HasSubstr(node.filename().native()), HasSubstr("is in use; end the process that has it open")));
    EXPECT_THAT(names(), Contains(kN3000)) << "the card has its driver";
  }
  const auto repaired = prepare(repairs);
  ASSERT_TRUE(repaired) << repaired.error().message;
}

TEST_P(FpgaClaims, APortThatTheKernelKeepsDisabledBesideOthersSaysSo) {
  keeps_disabled = true;
  ASSERT_TRUE(start_on({fake_fpga::four_ports()}));
  add_bitstream("nlb0", fake_fpga::kNlb0, cards->look("0000:5e:00.0").dfl->interface_id.value());
  cards->fail_next();
  const std::string port = "fpga-0000-5e-00-0-p1";
  EXPECT_THAT(refusal_of(claim_of("u1", {port}, R"("bitstream":"nlb0")")), HasSubstr("reconfig CRC error"));
  EXPECT_THAT(refusal_of(claim_of("u2", {port}, R"("bitstream":"nlb0")")),
              AllOf(HasSubstr("the port is disabled"), HasSubstr("until dfl-pci is bound to the card again")));
  EXPECT_EQ(device(port).health.reason, "NotProgrammed");
  EXPECT_EQ(device("fpga-0000-5e-00-0-p2").health.state, HealthState::kHealthy);
}

TEST_P(FpgaClaims, TwoCardsAreProgrammedAtOnceAndTwoRegionsOfOneAfterEachOther) {
  ASSERT_TRUE(start_on({fake_fpga::n3000(), fake_fpga::four_ports()}));
  const std::string interface = cards->look("0000:5e:00.0").dfl->interface_id.value();
  add_bitstream("a", fake_fpga::kNlb0);
  add_bitstream("b", fake_fpga::kNlb0, interface);
  auto one = claim_of("u1", {kN3000}, R"("bitstream":"a")");
  auto two = claim_of("u2", {"fpga-0000-5e-00-0-p0"}, R"("bitstream":"b")");
  auto three = claim_of("u3", {"fpga-0000-5e-00-0-p1"}, R"("bitstream":"b")");
  cards->hold();
  const auto first = begin(preparing(one, later())), second = begin(preparing(two, later())),
             third = begin(preparing(three, later()));
  ASSERT_TRUE(eventually([&] { return cards->programming() == 2; }));
  cards->release();
  ASSERT_TRUE(eventually([&] { return *first && *second && *third; }));
  for (const auto& each : {first, second, third}) EXPECT_TRUE(**each) << (**each).error().message;
  EXPECT_EQ(function_of("0000:5e:00.0", 1), fake_fpga::kNlb0);
  EXPECT_THAT(device(kN3000).health.state, HealthState::kHealthy);
}

TEST_P(FpgaClaims, ADeviceIsHealthyWhileItIsProgrammed) {
  ASSERT_TRUE(start_on({fake_fpga::n3000()}));
  add_bitstream("nlb0", fake_fpga::kNlb0);
  auto wanted = claim_of("u1", {kN3000}, R"("bitstream":"nlb0")");
  cards->hold();
  const auto prepared = begin(preparing(wanted, later()));
  ASSERT_TRUE(eventually([&] { return cards->programming() == 1; }));
  EXPECT_EQ(device(kN3000).health.state, HealthState::kHealthy);
  cards->release();
  ASSERT_TRUE(eventually([&] { return prepared->has_value(); }));
  EXPECT_TRUE(**prepared);
}

// The kernel blocks readers of a card's errors while the card is programmed.
TEST_P(FpgaClaims, TheHealthOfOtherCardsIsWatchedWhileOneIsProgrammed) {
  ASSERT_TRUE(start_on({fake_fpga::n3000(), fake_fpga::d5005()}));
  add_bitstream("nlb0", fake_fpga::kNlb0);
  auto wanted = claim_of("u1", {kN3000}, R"("bitstream":"nlb0")");
  cards->hold();
  const auto prepared = begin(preparing(wanted, later()));
  ASSERT_TRUE(eventually([&] { return cards->programming() == 1; }));
  cards->set_port_errors("0000:af:00.0", 0, 0x4);
  const auto is_told = [&](const auto& report) {
    return report.first == "0000:af:00.0/port-0" && report.second.reason == "PortErrors";
  };
  EXPECT_TRUE(eventually([&] {
    pass_ticks(1);
    return std::ranges::any_of(reports, is_told);
  }));
  cards->release();
  ASSERT_TRUE(eventually([&] { return prepared->has_value(); }));
  EXPECT_TRUE(**prepared);
}

TEST_P(FpgaClaims, AnOfsCardIsProgrammedAsAWholeAndHandsOutItsVirtualFunctions) {
  ASSERT_TRUE(start_on({fake_fpga::n6001()}));
  add_bitstream("nlb0", fake_fpga::kNlb0, fake_fpga::kN6001Interface);
  EXPECT_THAT(refusal_of(claim_of("u1", {"fpga-0000-b1-00-5"}, R"("bitstream":"nlb0")")),
              HasSubstr("ask for the card as a whole"));
  auto whole = claim_of("u2", {"fpga-0000-b1-00-0"}, R"("bitstream":"nlb0")");
  const auto prepared = prepare(whole);
  ASSERT_TRUE(prepared) << prepared.error().message;
  EXPECT_THAT(changes(), Contains(HasSubstr("FME_PORT_PR")));
  std::vector<std::string> nodes;
  for (const DeviceNode& node : prepared->allocations.front().device_nodes) nodes.push_back(node.path);
  EXPECT_THAT(nodes,
              AllOf(Contains("/dev/vfio/vfio"), Contains(HasSubstr("/dev/vfio/")), Not(Contains(HasSubstr("dfl")))));
}

TEST_P(FpgaClaims, AWholeCardIsProgrammedPortByPort) {
  ASSERT_TRUE(start_on({fake_fpga::four_ports()}));
  add_bitstream("nlb0", fake_fpga::kNlb0, cards->look("0000:5e:00.0").dfl->interface_id.value());
  auto whole = claim_of("u1", {"fpga-0000-5e-00-0"}, R"("bitstream":"nlb0")");
  const auto prepared = prepare(whole);
  ASSERT_TRUE(prepared) << prepared.error().message;
  for (unsigned port = 0; port < 4; ++port) EXPECT_EQ(function_of("0000:5e:00.0", port), fake_fpga::kNlb0);
  EXPECT_EQ(prepared->allocations.front().device_nodes.size(), 4u);
  ASSERT_TRUE(unprepare(whole));

  cards->fail_next();
  auto again = claim_of("u2", {"fpga-0000-5e-00-0"}, R"("bitstream":"nlb0","reprogram":"Always")");
  EXPECT_FALSE(prepare(again));
  EXPECT_EQ(device("fpga-0000-5e-00-0").health.reason, "NotProgrammed");
  EXPECT_EQ(device("fpga-0000-5e-00-0-p3").health.reason, "NotProgrammed")
      << "its programming may have stopped anywhere";
  EXPECT_TRUE(prepare(again));
  EXPECT_EQ(device("fpga-0000-5e-00-0-p3").health.state, HealthState::kHealthy);
}

TEST_P(FpgaClaims, AFencedPortStaysSoWhileItsNeighbourIsProgrammed) {
  ASSERT_TRUE(start_on({fake_fpga::four_ports()}));
  add_bitstream("own", fake_fpga::kN3000Afu, cards->look("0000:5e:00.0").dfl->interface_id.value());
  const std::string faulty = "fpga-0000-5e-00-0-p0", other = "fpga-0000-5e-00-0-p1";
  cards->fail_next();
  EXPECT_THAT(refusal_of(claim_of("u1", {faulty}, R"("bitstream":"own")")), HasSubstr("CRC"));
  auto wanted = claim_of("u2", {other}, R"("bitstream":"own")");
  cards->hold();
  const auto prepared = begin(preparing(wanted, later()));
  ASSERT_TRUE(eventually([&] { return cards->programming() == 1; }));
  EXPECT_EQ(device(faulty).health.reason, "NotProgrammed");
  EXPECT_EQ(device("fpga-0000-5e-00-0").health.reason, "") << "the card is being changed";
  EXPECT_EQ(device(other).health.state, HealthState::kHealthy);
  cards->release();
  ASSERT_TRUE(eventually([&] { return prepared->has_value(); }));
}

TEST_P(FpgaClaims, AnInstanceDoesNotBlameWhatAnEarlierOneIsProgramming) {
  if (isolation == Isolation::kInProcess) GTEST_SKIP() << "an instance in the daemon is not killed alone";
  ASSERT_TRUE(start_on({fake_fpga::n3000()}));
  add_bitstream("nlb0", fake_fpga::kNlb0);
  auto wanted = claim_of("u1", {kN3000}, R"("bitstream":"nlb0")");
  cards->hold();
  const auto unanswered = begin(preparing(wanted, later()));
  ASSERT_TRUE(eventually([&] { return cards->programming() == 1; }));
  for (const pid_t worker : proc::workers(::getpid())) ::kill(worker, SIGKILL);
  ASSERT_TRUE(eventually([&] { return unanswered->has_value(); }));
  module.reset();
  ASSERT_TRUE(start_again());
  EXPECT_EQ(device(kN3000).health.state, HealthState::kHealthy) << "the kernel still programs it";
  cards->release();
  ASSERT_TRUE(eventually([&] { return cards->programming() == 0; }));
  EXPECT_EQ(device(kN3000).health.reason, "NotProgrammed") << "its function was not read back";
  const auto prepared = prepare(wanted);
  ASSERT_TRUE(prepared) << prepared.error().message;
  EXPECT_EQ(device(kN3000).health.state, HealthState::kHealthy);
}

TEST_P(FpgaClaims, ACardThatLostItsDriverOnTheWayGetsItBack) {
  keeps_disabled = true;
  ASSERT_TRUE(start_on({fake_fpga::n3000()}));
  add_bitstream("nlb0", fake_fpga::kNlb0);
  cards->fail_next();
  auto wanted = claim_of("u1", {kN3000}, R"("bitstream":"nlb0")");
  EXPECT_FALSE(prepare(wanted));
  // Leaves the state of a daemon that was killed between unbind and bind.
  write(cards->sysfs() / "bus/pci/drivers/dfl-pci/unbind", "0000:3b:00.0");
  EXPECT_THAT(names(), IsEmpty());
  const auto prepared = prepare(wanted);
  ASSERT_TRUE(prepared) << prepared.error().message;
  EXPECT_EQ(function_of("0000:3b:00.0"), fake_fpga::kNlb0);
}

TEST_P(FpgaClaims, WhatWasPreparedIsMadeAnewIfItIsGone) {
  ASSERT_TRUE(start_on({fake_fpga::n3000()}));
  add_bitstream("nlb0", fake_fpga::kNlb0);
  auto wanted = claim_of("u1", {kN3000}, R"("bitstream":"nlb0")");
  ASSERT_TRUE(prepare(wanted));
  cards->set_afu_id("0000:3b:00.0", 0, fake_fpga::kNlb3);
  ASSERT_TRUE(prepare(wanted));
  EXPECT_EQ(function_of("0000:3b:00.0"), fake_fpga::kNlb0);
}

TEST_P(FpgaClaims, AdminAccessTouchesNothing) {
  ASSERT_TRUE(start_on({fake_fpga::n3000()}));
  auto wanted = claim_of("u1", {kN3000});
  wanted.allocations.front().admin_access = true;
  EXPECT_TRUE(prepare(wanted));
  EXPECT_TRUE(unprepare(wanted));
  EXPECT_THAT(changes(), IsEmpty());
}

}  // namespace
}  // namespace cardcage
