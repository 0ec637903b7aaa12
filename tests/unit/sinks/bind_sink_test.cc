// The sink of cage.bind as a module sees it.
#include "host/sinks/bind_sink.h"

#include <gmock/gmock.h>

#include <thread>

#include "tests/unit/sinks/abi_text.h"

namespace cardcage {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

cage_condition condition(std::string_view type, std::uint32_t status = CAGE_CONDITION_TRUE,
                         std::string_view reason = "Done", std::string_view message = "") {
  return {sizeof(cage_condition), status, text(type), text(reason), text(message)};
}

class BindSinkTest : public ::testing::Test {
 protected:
  BindSinkTest() { table = sink.open(2); }
  cage_status state(std::int32_t allocation, const cage_condition& given) {
    return table->condition(table, allocation, &given);
  }
  // The error after one refused statement.
  std::string refusal(std::int32_t allocation, const cage_condition& given) {
    table = sink.open(2);
    EXPECT_EQ(state(allocation, given), CAGE_INVALID_ARGUMENT);
    const auto finished = sink.finish();
    return finished ? "none" : finished.error().message;
  }

  BindSink sink{"m"};
  cage_bind_sink* table = nullptr;
};

TEST_F(BindSinkTest, CopiesTheConditionsOfEachDevice) {
  EXPECT_EQ(state(1, condition("Ready")), CAGE_OK);
  EXPECT_EQ(state(1, condition("example.com/Hot", CAGE_CONDITION_UNKNOWN, "Asked", "no answer")), CAGE_OK);
  EXPECT_EQ(state(1, condition("Ready", CAGE_CONDITION_FALSE, "Lost")), CAGE_OK) << "the last call counts";
  const auto progress = sink.finish();
  ASSERT_TRUE(progress) << progress.error().message;
  EXPECT_THAT(
      *progress,
      ElementsAre(IsEmpty(),
                  ElementsAre(DeviceCondition{"Ready", DeviceCondition::Status::kFalse, "Lost", "", {}},
                              DeviceCondition{
                                  "example.com/Hot", DeviceCondition::Status::kUnknown, "Asked", "no answer", {}})));
  table = sink.open(1);
  EXPECT_THAT(sink.finish().value(), ElementsAre(IsEmpty())) << "the next call starts empty";
}

TEST_F(BindSinkTest, ConditionsThatKubernetesWouldRefuseFailTheCall) {
  EXPECT_THAT(refusal(2, condition("Ready")), HasSubstr("there is no allocation 2"));
  EXPECT_THAT(refusal(-1, condition("Ready")), HasSubstr("there is no allocation -1"));
  EXPECT_THAT(refusal(0, condition("is ready")), HasSubstr("type of a condition 'is ready'"));
  EXPECT_THAT(refusal(0, condition("Ready", 3)), HasSubstr("status 3 is not one of CAGE_CONDITION_*"));
  EXPECT_THAT(refusal(0, condition("Ready", CAGE_CONDITION_TRUE, "")), HasSubstr("reason ''"));
  cage_condition old = condition("Ready");
  old.struct_size = 8;
  EXPECT_THAT(refusal(0, old), HasSubstr("struct_size of cage_condition is 8"));
}

TEST_F(BindSinkTest, ADeviceHasAtMostEightConditions) {
  std::vector<std::string> types;
  for (int i = 0; i < 9; ++i) types.push_back(fmt::format("type-{}", i));
  for (int i = 0; i < 8; ++i) EXPECT_EQ(state(0, condition(types[static_cast<std::size_t>(i)])), CAGE_OK);
  EXPECT_EQ(state(0, condition(types[3])), CAGE_OK);
  EXPECT_EQ(state(0, condition(types[8])), CAGE_RESOURCE_EXHAUSTED);
  EXPECT_THAT(sink.finish().error().message, HasSubstr("one more than the 8"));
}

TEST_F(BindSinkTest, RefusesOtherThreadsAndOtherTimes) {
  cage_status from_other_thread = CAGE_OK;
  std::thread([&] { from_other_thread = state(0, condition("Ready")); }).join();
  EXPECT_NE(from_other_thread, CAGE_OK);
  EXPECT_TRUE(sink.finish());
  EXPECT_NE(state(0, condition("Ready")), CAGE_OK);
}

}  // namespace
}  // namespace cardcage
