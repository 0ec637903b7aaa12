// Tests resets for operators.
#include "modules/fpga/health/declared_causes.h"
#include "tests/fpga/fpga_fixture.h"

namespace cardcage {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class FpgaReset : public FpgaFixture {
 protected:
  Status reset(const std::string& name) { return run(module->call(ResetCall{device(name).id}, soon())); }
  // Returns the newest statement about the cause of a device; nothing if there is none.
  std::optional<Health> about(const std::string& id, const std::string& cause) {
    let_news_pass();
    settle();
    std::optional<Health> newest;
    for (const auto& [device, health] : reports)
      if (device == id && health.cause == cause) newest = health;
    return newest;
  }
};
INSTANTIATE_TEST_SUITE_P(Isolation, FpgaReset, ::testing::Values(Isolation::kInProcess, Isolation::kProcess),
                         name_of_isolation);

TEST_P(FpgaReset, TheCausesAreDeclared) {
  ASSERT_TRUE(start_on({fake_fpga::n3000()}));
  EXPECT_THAT(module->identity().causes, SizeIs(std::size(fpga::kDeclaredCauses)));
}

TEST_P(FpgaReset, OfAPortClearsItsErrorsAndStatesItsCausesAnew) {
  ASSERT_TRUE(start_on({fake_fpga::n3000()}));
  const std::string name = "fpga-0000-3b-00-0-p0", id = device(name).id;
  cards->set_port_errors("0000:3b:00.0", 0, 0x24);
  cards->clear_log();
  reports.clear();
  const Status done = reset(name);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_THAT(changes(), ElementsAre(HasSubstr("PORT_RESET"), HasSubstr("errors/errors: 0x24")));
  EXPECT_TRUE(eventually([&] { return about(id, "PortErrors").has_value() && about(id, "Region").has_value(); }));
  for (const char* cause : {"Access", "PortErrors", "EngineErrors", "Region"}) {
    const auto stated = about(id, cause);
    ASSERT_TRUE(stated) << cause;
    EXPECT_EQ(stated->state, HealthState::kHealthy) << cause;
  }
}

TEST_P(FpgaReset, OfAWholeCardResetsEachOfItsPorts) {
  ASSERT_TRUE(start_on({fake_fpga::four_ports()}));
  const auto all = names();
  const auto whole = std::ranges::find(all, "fpga-0000-5e-00-0");
  if (whole == all.end()) GTEST_SKIP() << "the card is not offered as a whole";
  cards->clear_log();
  const Status done = reset(*whole);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_THAT(changes(), SizeIs(4));
}

TEST_P(FpgaReset, IsRefusedForAnFpgaOfASystemOnChip) {
  ASSERT_TRUE(start_on({fake_fpga::kria()}));
  ASSERT_THAT(names(), SizeIs(1));
  const Status refused = reset(names().front());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kUnimplemented);
  EXPECT_THAT(refused.error().message, AllOf(HasSubstr("cannot be reset"), HasSubstr("names a bitstream")));
}

TEST_P(FpgaReset, IsRefusedWhileQuiescedAndForUnknownDevices) {
  ASSERT_TRUE(start_on({fake_fpga::n3000()}));
  const std::string id = device("fpga-0000-3b-00-0-p0").id;
  cards->clear_log();
  EXPECT_EQ(run(module->call(ResetCall{"0000:99:00.0/port-0"}, soon())).error().code, Code::kNotFound);
  ASSERT_TRUE(run(module->call(QuiesceDeviceCall{id}, soon())));
  const Status refused = run(module->call(ResetCall{id}, soon()));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kUnavailable);
  EXPECT_THAT(refused.error().message, HasSubstr("is quiesced"));
  EXPECT_THAT(changes(), IsEmpty());
}

TEST_P(FpgaReset, LeavesAFencedDeviceFenced) {
  ASSERT_TRUE(start_on({fake_fpga::n3000()}));
  const std::string name = "fpga-0000-3b-00-0-p0";
  std::filesystem::create_directories(fences());
  write(fences() / "0000:3b:00.0_0000:3b:00.0-port-0", "its content is unknown\n");
  EXPECT_EQ(device(name).health.reason, "NotProgrammed");
  ASSERT_TRUE(reset(name));
  EXPECT_TRUE(eventually([&] { return about(device(name).id, "Region").has_value(); }));
  EXPECT_EQ(about(device(name).id, "Region")->reason, "NotProgrammed");
}

}  // namespace
}  // namespace cardcage
