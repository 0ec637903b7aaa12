// The family cage.snapshot.binding as a module sees it.
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

class BindingsTest : public ::testing::Test {
 protected:
  explicit BindingsTest(bool can_bind = true) : sink("m", {}, can_bind) { table = sink.open(); }
  cage_status add(std::string_view id) {
    cage_device given{};
    given.struct_size = sizeof given;
    given.id = text(id);
    given.kind = text("gpu");
    return table->device(table, &given);
  }
  cage_binding binding(std::uint32_t flags = 0) const {
    return {sizeof(cage_binding), flags, conditions, failures, 2, 1};
  }
  cage_status set(std::string_view id, const cage_binding& given) {
    const auto& family = *static_cast<const cage_snapshot_binding*>(table->extension(table, CAGE_SNAPSHOT_BINDING));
    return family.set(table, text(id), &given);
  }

  SnapshotSink sink;
  cage_snapshot* table = nullptr;
  const cage_str conditions[2] = {text("Ready"), text("example.com/Attached")}, failures[1] = {text("Failed")};
};

class BindingsOfAModuleThatCannotBind : public BindingsTest {
 protected:
  BindingsOfAModuleThatCannotBind() : BindingsTest(false) {}
};

TEST_F(BindingsTest, CopiesConditionsBeforeAndAfterTheDevice) {
  EXPECT_EQ(set("a", binding(CAGE_BINDING_TO_NODE)), CAGE_OK) << "before its device";
  EXPECT_EQ(add("a"), CAGE_OK);
  EXPECT_EQ(add("b"), CAGE_OK);
  EXPECT_EQ(add("c"), CAGE_OK);
  EXPECT_EQ(set("b", binding()), CAGE_OK);
  EXPECT_EQ(set("missing", binding()), CAGE_OK);
  const Snapshot snapshot = sink.finish();
  ASSERT_THAT(snapshot.devices, SizeIs(3));
  EXPECT_EQ(snapshot.devices[0].binding, (Binding{{"Ready", "example.com/Attached"}, {"Failed"}, true}));
  EXPECT_EQ(snapshot.devices[1].binding, (Binding{{"Ready", "example.com/Attached"}, {"Failed"}, false}));
  EXPECT_TRUE(snapshot.devices[2].binding.empty());
  EXPECT_THAT(snapshot.left_out, IsEmpty());
}

TEST_F(BindingsTest, ADeviceIsNotOfferedAsReadyIfItsBindingIsRefused) {
  cage_binding no_failure = binding(), too_many = binding(), without_data = binding(), old = binding();
  no_failure.failure_count = 0;
  too_many.condition_count = 5;
  without_data.conditions = nullptr;
  old.struct_size = 8;
  const cage_str twice[] = {text("Ready"), text("Ready")}, unnamed[] = {text("is ready"), text("Ready")};
  cage_binding repeated = binding(), bad = binding(), empty = binding();
  repeated.conditions = twice;
  bad.conditions = unnamed;
  empty.condition_count = empty.failure_count = 0;
  const std::pair<cage_binding, std::string> wrong[] = {{no_failure, "0 binding failures, 1 to 4 are allowed"},
                                                        {too_many, "at most 4 are allowed"},
                                                        {without_data, "2 entries and no data"},
                                                        {old, "struct_size of cage_binding is 8"},
                                                        {repeated, "'Ready' comes twice"},
                                                        {bad, "'is ready' is not the type of a condition"},
                                                        {empty, "no conditions: leave it out"},
                                                        {binding(2), "flags 0x2 of cage_binding are unknown"}};
  for (std::size_t i = 0; i < std::size(wrong); ++i) {
    const std::string id = fmt::format("bad-{}", i);
    EXPECT_EQ(add(id), CAGE_OK);
    EXPECT_EQ(set(id, wrong[i].first), CAGE_INVALID_ARGUMENT) << i;
  }
  EXPECT_EQ(add("good"), CAGE_OK);
  const Snapshot snapshot = sink.finish();
  ASSERT_THAT(snapshot.devices, SizeIs(1));
  EXPECT_EQ(snapshot.devices[0].id, "good");
  for (std::size_t i = 0; i < std::size(wrong); ++i)
    EXPECT_THAT(snapshot.left_out.at(fmt::format("bad-{}", i)), HasSubstr(wrong[i].second));
}

TEST_F(BindingsTest, ABindingIsSetOnce) {
  EXPECT_EQ(add("a"), CAGE_OK);
  EXPECT_EQ(set("a", binding()), CAGE_OK);
  EXPECT_EQ(set("a", binding()), CAGE_ALREADY_EXISTS);
  EXPECT_THAT(sink.finish().left_out, ElementsAre(Pair("a", HasSubstr("are set already"))));
}

TEST_F(BindingsOfAModuleThatCannotBind, ItsDeviceIsLeftOut) {
  EXPECT_EQ(add("a"), CAGE_OK);
  EXPECT_EQ(set("a", binding()), CAGE_FAILED_PRECONDITION);
  const Snapshot snapshot = sink.finish();
  EXPECT_THAT(snapshot.devices, IsEmpty());
  EXPECT_THAT(snapshot.left_out, ElementsAre(Pair("a", HasSubstr("give the module cage.bind/1"))));
}

TEST_F(BindingsTest, TheNextListKnowsNothingOfTheLast) {
  EXPECT_EQ(set("a", binding()), CAGE_OK);
  sink.finish();
  table = sink.open();
  EXPECT_EQ(add("a"), CAGE_OK);
  EXPECT_TRUE(sink.finish().devices.at(0).binding.empty());
}

}  // namespace
}  // namespace cardcage
