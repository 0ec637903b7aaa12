// Tests bitstreams that were built for a user clock, on cards whose clock is measured, set, or neither.
#include "tests/fpga/fpga_fixture.h"

namespace cardcage {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr const char* kClockedCard = "0000:3b:00.0";

class FpgaUserClock : public FpgaFixture {
 protected:
  // Returns a card with the attribute `frequency` of the OFS kernel.
  static fake_fpga::Card with_driver() {
    fake_fpga::Card card = fake_fpga::n3000();
    card.port(0)->revision = 1;
    return card;
  }
  void add_with_clock(const std::string& name, const std::string& high, const std::string& low,
                      const std::string& more = {}) {
    GbsFile gbs;
    gbs.interface_uuid = fake_fpga::kN3000Interface;
    gbs.function_uuid = fake_fpga::kNlb0;
    gbs.clock_high = high;
    gbs.clock_low = low;
    add_gbs(name, gbs, more);
  }
  Result<PreparedEdits> load(const std::string& bitstream, const std::string& uid = "u1") {
    auto wanted = claim_of(uid, {kN3000}, "\"bitstream\":\"" + bitstream + "\"");
    return prepare(wanted);
  }
  std::string refusal_of(const std::string& bitstream) {
    const auto refused = load(bitstream);
    EXPECT_FALSE(refused);
    return refused ? "" : refused.error().message;
  }
  std::pair<unsigned, unsigned> rates() const {
    const fake_fpga::Clock now = cards->look(kClockedCard).dfl->ports[0].clock;
    return {now.high_khz, now.low_khz};
  }
};
INSTANTIATE_TEST_SUITE_P(Isolation, FpgaUserClock, ::testing::Values(Isolation::kInProcess, Isolation::kProcess),
                         name_of_isolation);

TEST_P(FpgaUserClock, ABitstreamIsLoadedWhoseClockTheCardHas) {
  ASSERT_TRUE(start_on({fake_fpga::n3000()}));
  add_with_clock("fits", "312", "156");
  const auto prepared = load("fits");
  ASSERT_TRUE(prepared) << prepared.error().message;
  EXPECT_THAT(changes(), Contains(HasSubstr("FME_PORT_PR")));
}

TEST_P(FpgaUserClock, AClockThatIsTooFastAndCannotBeSetIsAnError) {
  ASSERT_TRUE(start_on({fake_fpga::n3000()}));
  add_with_clock("slow", "200", "100");
  EXPECT_THAT(refusal_of("slow"),
              AllOf(HasSubstr("the user clock of port 0 of card 0000:3b:00.0 is 312.5 and 156.25 MHz, faster than the "
                              "200 and 100 MHz"),
                    HasSubstr("userclk")));
  EXPECT_THAT(changes(), Each(Not(HasSubstr("FME_PORT_PR"))));
  EXPECT_EQ(device(kN3000).health.state, HealthState::kHealthy) << "nothing was changed";
  cards->change(kClockedCard, [](fake_fpga::Card& card) {
    card.port(0)->clock.high_khz = 200000;
    card.port(0)->clock.low_khz = 100000;
  });
  const auto prepared = load("slow");
  EXPECT_TRUE(prepared) << "an administrator has set it: " << prepared.error().message;
}

TEST_P(FpgaUserClock, TheManifestMaySayThatTheClockOfTheCardIsRight) {
  ASSERT_TRUE(start_on({fake_fpga::n3000()}));
  add_with_clock("slow", "200", "100", "clock_as_is = true\n");
  const auto prepared = load("slow");
  EXPECT_TRUE(prepared) << prepared.error().message;
  EXPECT_THAT(changes(), Each(Not(HasSubstr("userclk"))));
}

TEST_P(FpgaUserClock, AClockThatIsNotStableIsAnError) {
  fake_fpga::Card card = fake_fpga::n3000();
  card.port(0)->clock.locked = false;
  ASSERT_TRUE(start_on({card}));
  add_with_clock("fits", "312", "156");
  EXPECT_THAT(refusal_of("fits"), HasSubstr("is not stable: its PLL is not locked"));
  cards->change(kClockedCard, [](fake_fpga::Card& changed) {
    changed.port(0)->clock.locked = true;
    changed.port(0)->clock.version = 2;
  });
  EXPECT_THAT(refusal_of("fits"), HasSubstr("has version 2 of its registers"));
}

TEST_P(FpgaUserClock, TheKernelsDriverSetsTheClockBeforeTheBitstreamIsLoaded) {
  ASSERT_TRUE(start_on({with_driver()}));
  add_with_clock("slow", "200", "100");
  const auto prepared = load("slow");
  ASSERT_TRUE(prepared) << prepared.error().message;
  EXPECT_EQ(rates(), (std::pair{200000u, 100000u}));
  EXPECT_THAT(changes(),
              ElementsAre(HasSubstr("userclk/frequency"), HasSubstr("userclk/frequency"), HasSubstr("FME_PORT_PR")))
      << "by way of a rate in between";
}

TEST_P(FpgaUserClock, AnotherClockForTheSameFunctionLoadsItAnew) {
  ASSERT_TRUE(start_on({with_driver()}));
  add_with_clock("slow", "200", "100");
  add_with_clock("slower", "100", "50");
  ASSERT_TRUE(load("slow"));
  cards->clear_log();
  ASSERT_TRUE(load("slow", "u2"));
  EXPECT_THAT(changes(), Each(Not(HasSubstr("FME_PORT_PR")))) << "its function and its clock are there";
  ASSERT_TRUE(load("slower", "u3"));
  EXPECT_EQ(rates(), (std::pair{100000u, 50000u}));
  EXPECT_THAT(changes(), Contains(HasSubstr("FME_PORT_PR")));
}

TEST_P(FpgaUserClock, OneRateOfTwoIsEnough) {
  ASSERT_TRUE(start_on({with_driver()}));
  add_with_clock("high", "240", "\"auto-120\"");
  ASSERT_TRUE(load("high"));
  EXPECT_EQ(rates(), (std::pair{240000u, 120000u}));
}

TEST_P(FpgaUserClock, SettingsOfOtherRevisionsAreNotGuessed) {
  fake_fpga::Card card = with_driver();
  card.port(0)->clock.feature_revision = 1;
  ASSERT_TRUE(start_on({card}));
  add_with_clock("slow", "200", "100");
  EXPECT_THAT(refusal_of("slow"), HasSubstr("faster than the 200 and 100 MHz"));
  EXPECT_THAT(changes(), Each(Not(HasSubstr("userclk"))));
}

TEST_P(FpgaUserClock, ACardWhoseClockIsNotShownIsRefusedAtOnce) {
  fake_fpga::Card card = with_driver();
  card.port(0)->clock.has_driver = false;
  ASSERT_TRUE(start_on({card}));
  add_with_clock("slow", "200", "100");
  EXPECT_THAT(refusal_of("slow"),
              AllOf(HasSubstr("bitstream 'slow' cannot be loaded into card 0000:3b:00.0"),
                    HasSubstr("a user clock of 200 and 100 MHz"), HasSubstr("load uio_dfl"), HasSubstr("clock_as_is")));
  EXPECT_THAT(changes(), IsEmpty());
}

}  // namespace
}  // namespace cardcage
