#include "host/instance/declared_parts.h"

#include <gmock/gmock.h>

#include <functional>
#include <limits>

#include "host/instance/declarations.h"

namespace cardcage {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr std::uint32_t kWeek = 7 * 24 * 3600;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInfinity = std::numeric_limits<double>::infinity();

class CauseDeclarationsTest : public ::testing::Test {
 protected:
  CauseDeclarationsTest() {
    table.causes = causes;
    table.cause_count = 1;
    heat.struct_size = event.struct_size = sizeof(cage_cause);
    heat.name = CAGE_LIT("Temperature");
    heat.help = CAGE_LIT("the hottest sensor");
    heat.unit = CAGE_LIT("Cel");
    heat.flags = CAGE_CAUSE_ABOVE;
    heat.limit = 95;
    heat.clear_limit = 90;
    heat.severity = CAGE_HEALTH_DEGRADED;
    event.name = CAGE_LIT("Xid");
    event.help = CAGE_LIT("the driver reported an error");
    event.flags = CAGE_CAUSE_EVENT;
    event.recovery = CAGE_RECOVERY_SILENCE;
    event.recovery_s = 3600;
  }
  std::string refusal() const {
    const auto copied = copy_causes(table);
    return copied ? "was taken" : copied.error().message;
  }
  // The error for `cause` as the only cause, after `change`.
  std::string refusal_of(cage_cause cause, const std::function<void(cage_cause&)>& change) {
    change(cause);
    const cage_cause* const one[] = {&cause};
    table.causes = one;
    const std::string why = refusal();
    table.causes = causes;
    return why;
  }

  cage_cause heat{}, event{};
  const cage_cause* causes[2] = {&heat, &event};
  cage_module table{};
};

TEST_F(CauseDeclarationsTest, CopiesEverything) {
  event.severity = CAGE_HEALTH_BAD;
  event.hold_down_s = 5;
  event.relapses = 100;
  event.window_s = kWeek;
  event.taint = CAGE_TAINT_NO_EXECUTE;
  event.taint_key = CAGE_LIT("example.com/xid");
  event.taint_value = CAGE_LIT("seen");
  table.cause_count = 2;
  const auto copied = copy_causes(table);
  ASSERT_TRUE(copied) << copied.error().message;
  EXPECT_THAT(*copied, ElementsAre(CauseDeclaration{.name = "Temperature",
                                                    .help = "the hottest sensor",
                                                    .unit = "Cel",
                                                    .limit = ValueLimit{ValueLimit::Side::kAbove, 95, 90},
                                                    .severity = HealthState::kDegraded},
                                   CauseDeclaration{.name = "Xid",
                                                    .help = "the driver reported an error",
                                                    .event = true,
                                                    .severity = HealthState::kUnhealthy,
                                                    .hold_down = std::chrono::seconds(5),
                                                    .recovery = Recovery::kSilence,
                                                    .recovery_time = std::chrono::hours(1),
                                                    .relapses = 100,
                                                    .window = std::chrono::days(7),
                                                    .taint = {TaintEffect::kNoExecute, "example.com/xid", "seen"}}));
}

TEST_F(CauseDeclarationsTest, AModuleMayDeclareNone) {
  table.cause_count = 0;
  EXPECT_THAT(copy_causes(table).value(), SizeIs(0));
}

TEST_F(CauseDeclarationsTest, RefusesListsThatMakeNoSense) {
  table.cause_count = 65;
  EXPECT_EQ(refusal(), "[R23]: causes has 65 entries, at most 64 are allowed");
  table.cause_count = 2;
  causes[1] = &heat;
  EXPECT_EQ(refusal(), "causes has 'Temperature' twice [R23]");
  causes[1] = nullptr;
  EXPECT_EQ(refusal(), "entry 1 of causes [R23]: cage_cause is NULL");
  table.causes = nullptr;
  EXPECT_EQ(refusal(), "[R23]: causes has 2 entries and no data");
}

TEST_F(CauseDeclarationsTest, RefusesBadTexts) {
  for (const char* name : {"", "temperature", "Too hot", "Row-Remap"})
    EXPECT_THAT(refusal_of(heat, [&](auto& cause) { cause.name = {name, std::strlen(name)}; }),
                StartsWith(fmt::format("entry 0 of causes [R23]: name '{}' is not a CamelCase word", name)));
  for (const char* help : {"", "two\nlines"})
    EXPECT_THAT(refusal_of(heat, [&](auto& cause) { cause.help = {help, std::strlen(help)}; }),
                HasSubstr("' is not one line of UTF-8 of 1 to 256 bytes"));
  for (const char* unit : {"de g",
                           "\xc2\xb0"
                           "C",
                           "seventeen-letters"})
    EXPECT_THAT(refusal_of(heat, [&](auto& cause) { cause.unit = {unit, std::strlen(unit)}; }),
                HasSubstr("is not a UCUM code of at most 16 printable ASCII characters"));
  EXPECT_THAT(refusal_of(heat, [](auto& cause) { cause.unit = {nullptr, 3}; }), HasSubstr("3 bytes and no data"));
}

TEST_F(CauseDeclarationsTest, RefusesUnknownNumbers) {
  const auto with = [&](auto member, std::uint32_t number) {
    return refusal_of(event, [&](auto& cause) { cause.*member = number; });
  };
  EXPECT_EQ(with(&cage_cause::flags, 1u << 3), "entry 0 of causes [R23]: flags 8 is unknown [R16]");
  EXPECT_EQ(with(&cage_cause::severity, 5), "entry 0 of causes [R23]: severity 5 is unknown [R16]");
  EXPECT_EQ(with(&cage_cause::recovery, 4), "entry 0 of causes [R23]: recovery 4 is unknown [R16]");
  EXPECT_EQ(with(&cage_cause::taint, 4), "entry 0 of causes [R23]: taint 4 is unknown [R16]");
  EXPECT_THAT(with(&cage_cause::struct_size, 8), HasSubstr("set it to sizeof(cage_cause) [R2]"));
}

TEST_F(CauseDeclarationsTest, RefusesLimitsThatMakeNoSense) {
  const auto with = [&](const std::function<void(cage_cause&)>& change) { return refusal_of(heat, change); };
  EXPECT_THAT(with([](auto& cause) { cause.flags |= CAGE_CAUSE_BELOW; }), HasSubstr("both ABOVE and BELOW"));
  EXPECT_THAT(with([](auto& cause) { cause.flags = 0; }), HasSubstr("neither ABOVE nor BELOW"));
  EXPECT_THAT(with([](auto& cause) { cause.unit = {}; }), HasSubstr("limit 95 has no unit"));
  for (const double number : {kNan, kInfinity}) {
    EXPECT_THAT(with([&](auto& cause) { cause.limit = number; }), HasSubstr("not both finite"));
    EXPECT_THAT(with([&](auto& cause) { cause.clear_limit = -number; }), HasSubstr("not both finite"));
  }
  EXPECT_THAT(with([](auto& cause) { cause.clear_limit = 95.5; }), HasSubstr("clear_limit 95.5 is above limit 95"));
  EXPECT_EQ(with([](auto& cause) { cause.clear_limit = 95; }), "was taken");
  EXPECT_THAT(with([](auto& cause) { cause.flags = CAGE_CAUSE_BELOW; }),
              HasSubstr("clear_limit 90 is below limit 95: the cause would never be over"));
  for (const std::uint32_t severity : {CAGE_HEALTH_UNKNOWN, CAGE_HEALTH_OK, CAGE_HEALTH_UNMONITORED})
    EXPECT_THAT(with([&](auto& cause) { cause.severity = severity; }), HasSubstr("neither BAD nor DEGRADED"));
}

TEST_F(CauseDeclarationsTest, RefusesEndsThatNeverCome) {
  const auto with = [&](const std::function<void(cage_cause&)>& change) { return refusal_of(event, change); };
  EXPECT_THAT(with([](auto& cause) { cause.recovery_s = 0; }), HasSubstr("SILENCE and STABLE need a time"));
  EXPECT_THAT(with([](auto& cause) { cause.recovery = CAGE_RECOVERY_STABLE; }), HasSubstr("without a unit"));
  EXPECT_THAT(with([](auto& cause) { cause.recovery = CAGE_RECOVERY_REPORT; }), HasSubstr("of an EVENT is never"));
  EXPECT_EQ(with([](auto& cause) { cause.recovery = CAGE_RECOVERY_OPERATOR; }), "was taken");
  EXPECT_THAT(with([](auto& cause) { cause.relapses = 3; }), HasSubstr("set both or none"));
  EXPECT_THAT(with([](auto& cause) { cause.window_s = 3; }), HasSubstr("set both or none"));
  EXPECT_THAT(with([](auto& cause) { cause.relapses = 101, cause.window_s = 3; }), HasSubstr("at most 100"));
  for (const auto member : {&cage_cause::hold_down_s, &cage_cause::recovery_s, &cage_cause::window_s})
    EXPECT_THAT(with([&](auto& cause) {
                  cause.relapses = 1, cause.window_s = 1;
                  cause.*member = kWeek + 1;
                }),
                HasSubstr("604801, at most 7 days"));
}

TEST_F(CauseDeclarationsTest, RefusesTaintsThatMakeNoSense) {
  const auto with = [&](const std::function<void(cage_cause&)>& change) { return refusal_of(event, change); };
  EXPECT_THAT(with([](auto& cause) { cause.taint_key = CAGE_LIT("ecc"); }), HasSubstr("taint_key 'ecc' is not"));
  EXPECT_THAT(with([](auto& cause) { cause.taint_value = CAGE_LIT("a b"); }), HasSubstr("taint_value 'a b' is not"));
  EXPECT_THAT(with([](auto& cause) { cause.taint = CAGE_TAINT_INFORM, cause.severity = CAGE_HEALTH_OK; }),
              HasSubstr("nothing would ever be tainted"));
}

}  // namespace
}  // namespace cardcage
