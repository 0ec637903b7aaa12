// Tests the release of a device with its claim, and the call before a container starts.
#include <fcntl.h>

#include "host/core/unique_fd.h"
#include "tests/fpga/fpga_fixture.h"

namespace cardcage {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class FpgaRelease : public FpgaFixture {
 protected:
  // Returns a claim whose class has these members.
  ModuleClaim claim_of_class(const std::string& members) {
    return claim_of("u1", {kN3000}, members, ConfigSource::kClass);
  }
  // Adds a program for the daemon that records its arguments, and exits with the status.
  std::filesystem::path add_program(const std::string& name, int status) {
    const std::filesystem::path file = folder / name;
    write(file,
          fmt::format("#!/bin/sh\necho \"$@\" >>{}\necho not clean >&2\nexit {}\n", (folder / "ran").native(), status));
    std::filesystem::permissions(file, std::filesystem::perms(0755));
    programs = {file};
    return file;
  }
};
INSTANTIATE_TEST_SUITE_P(Isolation, FpgaRelease, ::testing::Values(Isolation::kInProcess, Isolation::kProcess),
                         name_of_isolation);

TEST_P(FpgaRelease, ResetsThePortAndClearsItsErrors) {
  ASSERT_TRUE(start_on({fake_fpga::n3000()}));
  auto wanted = claim_of("u1", {kN3000});
  ASSERT_TRUE(prepare(wanted));
  cards->set_port_errors("0000:3b:00.0", 0, 0x24);
  cards->clear_log();
  const Status released = unprepare(wanted);
  ASSERT_TRUE(released) << released.error().message;
  EXPECT_THAT(changes(), ElementsAre(HasSubstr("PORT_RESET"), HasSubstr("errors/errors: 0x24")));
  EXPECT_EQ(cards->look("0000:3b:00.0").port(0)->errors, 0u);
  EXPECT_TRUE(unprepare(wanted)) << "again, as the kubelet may";
}

TEST_P(FpgaRelease, AClaimThatWasNeverPreparedTouchesNothing) {
  ASSERT_TRUE(start_on({fake_fpga::n3000()}));
  EXPECT_TRUE(unprepare(claim_of("u1", {kN3000})));
  EXPECT_THAT(changes(), IsEmpty());
}

TEST_P(FpgaRelease, ACardThatIsGoneIsReleased) {
  ASSERT_TRUE(start_on({fake_fpga::n3000()}));
  auto wanted = claim_of("u1", {kN3000});
  ASSERT_TRUE(prepare(wanted));
  cards->remove_card("0000:3b:00.0");
  EXPECT_TRUE(unprepare(wanted));
}

TEST_P(FpgaRelease, LoadsTheBlankBitstreamOfTheClass) {
  ASSERT_TRUE(start_on({fake_fpga::n3000()}));
  add_bitstream("blank", fake_fpga::kNlb3);
  auto wanted = claim_of_class(R"("blankBitstream":"blank")");
  ASSERT_TRUE(prepare(wanted));
  EXPECT_EQ(cards->look("0000:3b:00.0").port(0)->afu_id, fake_fpga::kN3000Afu);
  ASSERT_TRUE(unprepare(wanted));
  EXPECT_EQ(cards->look("0000:3b:00.0").port(0)->afu_id, fake_fpga::kNlb3);
}

TEST_P(FpgaRelease, RunsTheScrubProgramOfTheClassWithItsBitstream) {
  add_program("scrub", 0);
  ASSERT_TRUE(start_on({fake_fpga::n3000()}));
  add_bitstream("eraser", fake_fpga::kNlb3);
  auto wanted = claim_of_class(R"("scrub":{"program":"scrub","bitstream":"eraser"})");
  const auto prepared = prepare(wanted);
  ASSERT_TRUE(prepared) << prepared.error().message;
  const Status released = finish(module->call(UnprepareCall{wanted}, later()));
  ASSERT_TRUE(released) << released.error().message;
  std::ifstream file(folder / "ran");
  std::string line;
  std::getline(file, line);
  EXPECT_EQ(line, "0000:3b:00.0/port-0");
  EXPECT_EQ(cards->look("0000:3b:00.0").port(0)->afu_id, fake_fpga::kNlb3);
}

TEST_P(FpgaRelease, ADeviceThatCannotBeCleanedIsTakenOutOfServiceAtTheThirdAttempt) {
  add_program("scrub", 3);
  ASSERT_TRUE(start_on({fake_fpga::n3000()}));
  auto wanted = claim_of_class(R"("scrub":{"program":"scrub"})");
  ASSERT_TRUE(prepare(wanted));
  for (int attempt = 1; attempt <= 2; ++attempt) {
    const Status released = finish(module->call(UnprepareCall{wanted}, later()));
    ASSERT_FALSE(released) << attempt;
    EXPECT_THAT(released.error().message, AllOf(HasSubstr("the scrub program 'scrub' did not clean device"),
                                                HasSubstr("it exited with status 3: not clean")));
  }
  ASSERT_TRUE(finish(module->call(UnprepareCall{wanted}, later()))) << "so that the pod can go";
  const Device port = device(kN3000);
  EXPECT_EQ(port.health.reason, "NotProgrammed");
  EXPECT_THAT(port.health.message, HasSubstr("it could not be cleaned after a claim"));
}

TEST_P(FpgaRelease, NobodyGetsADeviceWhoseMemoryWasNotErased) {
  const auto program = add_program("scrub", 3);
  ASSERT_TRUE(start_on({fake_fpga::n3000()}));
  add_bitstream("nlb0", fake_fpga::kNlb0);
  auto wanted = claim_of_class(R"("scrub":{"program":"scrub"})");
  ASSERT_TRUE(prepare(wanted));
  for (int attempt = 1; attempt <= 3; ++attempt) std::ignore = finish(module->call(UnprepareCall{wanted}, later()));
  auto next = claim_of("u2", {kN3000}, R"("bitstream":"nlb0")");
  set_pace();
  const auto refused = finish(preparing(next, later()));
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("the scrub program 'scrub' did not clean device"));
  write(program, "#!/bin/sh\nexit 0\n");
  std::filesystem::permissions(program, std::filesystem::perms(0755));
  const auto prepared = finish(preparing(next, later()));
  ASSERT_TRUE(prepared) << prepared.error().message;
  EXPECT_EQ(device(kN3000).health.state, HealthState::kHealthy);
}

TEST_P(FpgaRelease, AClaimThatNeverGotThePortDoesNotTakeItOutOfService) {
  ASSERT_TRUE(start_on({fake_fpga::n3000()}));
  const UniqueFd holder(::open(cards->port_node("0000:3b:00.0").c_str(), O_RDWR | O_CLOEXEC));
  auto wanted = claim_of("u1", {kN3000});
  ASSERT_FALSE(prepare(wanted));
  ASSERT_FALSE(wanted.journal.empty());
  EXPECT_TRUE(unprepare(wanted));
  EXPECT_EQ(device(kN3000).health.state, HealthState::kHealthy);
}

TEST_P(FpgaRelease, WaitsForAProcessThatStillEnds) {
  ASSERT_TRUE(start_on({fake_fpga::n3000()}));
  auto wanted = claim_of("u1", {kN3000});
  ASSERT_TRUE(prepare(wanted));
  UniqueFd holder(::open(cards->port_node("0000:3b:00.0").c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_TRUE(holder);
  const auto released = begin(module->call(UnprepareCall{wanted}, later()));
  ASSERT_TRUE(eventually([&] { return cards->log().back().starts_with("open") || released->has_value(); }));
  EXPECT_FALSE(released->has_value());
  holder = UniqueFd();
  ASSERT_TRUE(eventually([&] { return released->has_value(); }));
  EXPECT_TRUE(**released);
}

TEST_P(FpgaRelease, ProgrammingThatTheJournalTellsOfIsCleanedUp) {
  ASSERT_TRUE(start_on({fake_fpga::n3000()}));
  add_bitstream("nlb0", fake_fpga::kNlb0);
  add_bitstream("blank", fake_fpga::kNlb3);
  auto wanted = claim_of_class(R"("blankBitstream":"blank","bitstream":"nlb0")");
  cards->fail_next();
  ASSERT_FALSE(prepare(wanted));
  ASSERT_FALSE(wanted.journal.empty());
  ASSERT_TRUE(start_again());
  ASSERT_TRUE(unprepare(wanted)) << "the claim is deleted";
  EXPECT_EQ(cards->look("0000:3b:00.0").port(0)->afu_id, fake_fpga::kNlb3);
  EXPECT_EQ(device(kN3000).health.state, HealthState::kHealthy);
}

TEST_P(FpgaRelease, PreStartResetsThePort) {
  ASSERT_TRUE(start_on({fake_fpga::n3000()}));
  auto wanted = claim_of("u1", {kN3000});
  ASSERT_TRUE(prepare(wanted));
  cards->clear_log();
  const Status started = run(module->call(PreStartCall{wanted}, soon()));
  ASSERT_TRUE(started) << started.error().message;
  EXPECT_THAT(changes(), ElementsAre(HasSubstr("PORT_RESET")));
}

TEST_P(FpgaRelease, AQuiescedModuleTakesAndReleasesNothing) {
  ASSERT_TRUE(start_on({fake_fpga::n3000()}));
  auto wanted = claim_of("u1", {kN3000});
  ASSERT_TRUE(run(module->call(QuiesceCall{}, soon())));
  const auto refused = prepare(wanted);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("quiesced"));
  ASSERT_TRUE(run(module->call(ResumeCall{}, soon())));
  EXPECT_TRUE(prepare(wanted));
}

}  // namespace
}  // namespace cardcage
