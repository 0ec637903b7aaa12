// The text about differences of device lists and edits.
#include <gtest/gtest.h>

#include "host/conformance/claim_edits.h"
#include "host/conformance/device_changes.h"
#include "tests/fakes/every_trait.h"

namespace cardcage {
namespace {

Device device(const std::string& id) {
  Device made;
  made.id = made.name = id;
  made.kind = "gpu";
  return made;
}

TEST(DeviceChangesTest, NamesTheDeviceAndThePart) {
  Snapshot before{.devices = {device("a"), device("b"), device("c")}, .counter_sets = {}, .left_out = {}};
  Snapshot after = before;
  after.devices[0].health.state = HealthState::kUnhealthy;
  EXPECT_EQ(device_changes(before, after), "") << "health may change at any time";
  after.devices[0].name = "other";
  after.devices[1].attributes["temperature"] = std::int64_t{40};
  after.devices[2].id = "d";
  EXPECT_EQ(device_changes(before, after),
            "device 'a' has another name, device 'b' has other attributes, device 'c' is missing and 1 more");
}

TEST(DeviceChangesTest, NamesEachTrait) {
  const Snapshot before{.devices = {device("a")}, .counter_sets = {}, .left_out = {}};
  Snapshot after = before;
  const auto change = [&](std::string_view name, auto& trait, auto& other) {
    std::swap(trait, other);
    EXPECT_EQ(device_changes(before, after), fmt::format("device 'a' has other {}", name));
    std::swap(trait, other);
  };
  DeviceTraits other = every_trait();
  describe(change, after.devices[0], other);
}

TEST(EditChangesTest, NamesTheKindsOfEdits) {
  PreparedEdits before;
  before.allocations.resize(1);
  before.claim.env = {{"A", "1"}};
  before.allocations[0].device_nodes = {{.path = "/dev/a"}, {.path = "/dev/b"}};
  before.state = "abc";
  EXPECT_EQ(summary_of(before), "variables: 1, device nodes: 2, bytes of state: 3");
  EXPECT_EQ(summary_of({}), "no edits");
  PreparedEdits after = before;
  after.state = "other";
  EXPECT_EQ(edit_changes(before, after), "") << "the state belongs to the module";
  after.claim.env = {{"A", "2"}};
  after.allocations[0].device_nodes.pop_back();
  EXPECT_EQ(edit_changes(before, after), "the container gets other variables, device nodes");
}

}  // namespace
}  // namespace cardcage
