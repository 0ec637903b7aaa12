// The family cage.snapshot.policy as a module sees it.
#include <gmock/gmock.h>

#include "host/sinks/snapshot_sink.h"
#include "tests/unit/sinks/abi_text.h"

namespace cardcage {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

cage_quantity amount(std::int64_t value, std::int32_t exp10 = 0) {
  return {text("is not read"), value, exp10, CAGE_QTY_DECIMAL};
}

class RequestPoliciesTest : public ::testing::Test {
 protected:
  RequestPoliciesTest() { table = sink.open(); }
  cage_status add(std::string_view id, std::uint32_t flags = CAGE_DEVICE_SHARED) {
    cage_device given{};
    given.struct_size = sizeof given;
    given.flags = flags;
    given.id = text(id);
    given.kind = text("gpu");
    given.capacity = &memory;
    given.capacity_count = 1;
    return table->device(table, &given);
  }
  cage_request_policy policy() const {
    cage_request_policy made{};
    made.struct_size = sizeof made;
    made.default_amount = &two;
    return made;
  }
  cage_status set(std::string_view id, std::string_view capacity, const cage_request_policy& given) {
    const auto& family = *static_cast<const cage_snapshot_policy*>(table->extension(table, CAGE_SNAPSHOT_POLICY));
    return family.set(table, text(id), text(capacity), &given);
  }

  SnapshotSink sink{"m"};
  cage_snapshot* table = nullptr;
  const cage_quantity memory = {text("memory"), 8, 0, CAGE_QTY_DECIMAL};
  const cage_quantity one = amount(1), two = amount(2), six = amount(6);
  const cage_quantity negative = amount(-1), odd = amount(1, 30);
};

TEST_F(RequestPoliciesTest, CopiesARangeAndValuesInAnyOrder) {
  cage_request_policy range = policy();
  range.min = &two;
  range.max = &six;
  range.step = &one;
  EXPECT_EQ(set("a", "memory", range), CAGE_OK) << "before its device";
  EXPECT_EQ(add("a"), CAGE_OK);
  EXPECT_EQ(add("b"), CAGE_OK);
  const cage_quantity list[] = {one, two};
  cage_request_policy values = policy();
  values.values = list;
  values.value_count = 2;
  EXPECT_EQ(set("b", "memory", values), CAGE_OK);
  EXPECT_EQ(set("absent", "memory", values), CAGE_OK) << "a policy for an unknown device does no harm";
  const Snapshot snapshot = sink.finish();
  EXPECT_THAT(snapshot.left_out, IsEmpty());
  ASSERT_THAT(snapshot.devices, SizeIs(2));
  EXPECT_EQ(
      snapshot.devices[0].policies,
      (RequestPolicies{
          {"memory", {.default_amount = Quantity{2}, .min = Quantity{2}, .max = Quantity{6}, .step = Quantity{1}}}}));
  EXPECT_EQ(snapshot.devices[1].policies,
            (RequestPolicies{{"memory", {.default_amount = Quantity{2}, .values = {Quantity{1}, Quantity{2}}}}}));
}

TEST_F(RequestPoliciesTest, RefusesWhatIsMalformedAtOnce) {
  for (const char* id : {"negative", "huge", "many", "twice", "bad-name", "small"}) ASSERT_EQ(add(id), CAGE_OK);
  cage_request_policy given = policy();
  given.min = &negative;
  EXPECT_EQ(set("negative", "memory", given), CAGE_INVALID_ARGUMENT);
  given = policy();
  const cage_quantity list[] = {one, odd};
  given.values = list;
  given.value_count = 2;
  EXPECT_EQ(set("huge", "memory", given), CAGE_INVALID_ARGUMENT);
  given.value_count = 11;
  EXPECT_EQ(set("many", "memory", given), CAGE_INVALID_ARGUMENT);
  EXPECT_EQ(set("twice", "memory", policy()), CAGE_OK);
  EXPECT_EQ(set("twice", "memory", policy()), CAGE_ALREADY_EXISTS);
  EXPECT_EQ(set("bad-name", "a b", policy()), CAGE_INVALID_ARGUMENT);
  given = policy();
  given.struct_size = 8;
  EXPECT_EQ(set("small", "memory", given), CAGE_INVALID_ARGUMENT);
  EXPECT_EQ(set("bad id", "memory", policy()), CAGE_INVALID_ARGUMENT);
  const Snapshot snapshot = sink.finish();
  EXPECT_THAT(snapshot.devices, IsEmpty());
  EXPECT_THAT(
      snapshot.left_out,
      ElementsAre(Pair("bad-name", HasSubstr("capacity name 'a b' is not the name of a capacity")),
                  Pair("huge", HasSubstr("request policy of capacity 'memory': values[1]: exp10 30 is not in")),
                  Pair("many", "request policy of capacity 'memory': values has 11 entries, at most 10 are allowed"),
                  Pair("negative", "request policy of capacity 'memory': min: value -1 is negative"),
                  Pair("small", HasSubstr("set it to sizeof(cage_request_policy) [R2]")),
                  Pair("twice", "capacity 'memory' has a request policy already")));
}

// Without its policy, such a device would give claims amounts that it cannot be divided into.
TEST_F(RequestPoliciesTest, LeavesOutDevicesWhosePolicyKubernetesWouldRefuse) {
  EXPECT_EQ(add("alone", 0), CAGE_OK);
  EXPECT_EQ(set("alone", "memory", policy()), CAGE_OK);
  EXPECT_EQ(add("other"), CAGE_OK);
  EXPECT_EQ(set("other", "cores", policy()), CAGE_OK);
  EXPECT_EQ(add("steps"), CAGE_OK);
  cage_request_policy given = policy();
  given.min = &one;
  given.step = &two;
  EXPECT_EQ(set("steps", "memory", given), CAGE_OK);
  EXPECT_EQ(add("none"), CAGE_OK);
  given = policy();
  given.default_amount = nullptr;
  EXPECT_EQ(set("none", "memory", given), CAGE_OK);
  EXPECT_EQ(add("good"), CAGE_OK);
  const Snapshot snapshot = sink.finish();
  ASSERT_THAT(snapshot.devices, SizeIs(1));
  EXPECT_EQ(snapshot.devices[0].id, "good");
  EXPECT_THAT(snapshot.left_out,
              ElementsAre(Pair("alone", "capacity 'memory' has a request policy, but the device is not shared"),
                          Pair("none", "request policy of capacity 'memory': there is no default"),
                          Pair("other", "there is a request policy for capacity 'cores', which the device lacks"),
                          Pair("steps", HasSubstr("default 2 is not validRange.min 1 and a multiple of "))));
}

TEST_F(RequestPoliciesTest, IsForgottenWithTheSnapshot) {
  EXPECT_EQ(set("a", "memory", policy()), CAGE_OK);
  sink.finish();
  EXPECT_EQ(set("a", "memory", policy()), CAGE_FAILED_PRECONDITION);
  table = sink.open();
  EXPECT_EQ(add("a"), CAGE_OK);
  EXPECT_THAT(sink.finish().devices.at(0).policies, IsEmpty());
}

}  // namespace
}  // namespace cardcage
