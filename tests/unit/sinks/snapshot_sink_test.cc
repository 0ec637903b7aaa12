#include "host/sinks/snapshot_sink.h"

#include <gmock/gmock.h>

#include <thread>

#include "host/core/log.h"
#include "host/sinks/device_copy.h"
#include "tests/unit/sinks/abi_text.h"

namespace cardcage {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;
using ::testing::StartsWith;

cage_device device(std::string_view id) {
  cage_device made{};
  made.struct_size = sizeof made;
  made.id = text(id);
  made.kind = text("gpu");
  return made;
}
cage_attr attribute(std::string_view name, std::uint32_t type) {
  cage_attr made{};
  made.name = text(name);
  made.type = type;
  made.count = 1;
  return made;
}
cage_attr string_attribute(std::string_view name, std::string_view value, std::uint32_t type = CAGE_ATTR_STRING) {
  cage_attr made = attribute(name, type);
  made.v.s = text(value);
  return made;
}
std::string refusal(const cage_device& given) {
  const auto copied = copy_device(given);
  return copied ? "was taken" : copied.error().message;
}
std::string refusal(const cage_attr& attr) {
  cage_device given = device("d");
  given.attrs = &attr;
  given.attr_count = 1;
  return refusal(given);
}

TEST(DeviceCopyTest, CopiesEverything) {
  const std::int64_t numbers[] = {1, 2};
  cage_attr attrs[] = {
      attribute("count", CAGE_ATTR_INT), attribute("ecc", CAGE_ATTR_BOOL), string_attribute("example.com/model", "X1"),
      string_attribute("driver", "535.104.5", CAGE_ATTR_VERSION), attribute("lanes", CAGE_ATTR_LIST | CAGE_ATTR_INT)};
  attrs[0].v.i = -7;
  attrs[1].v.i = 1;
  attrs[4].v.ints = numbers;
  attrs[4].count = 2;
  const cage_quantity memory = {text("memory"), 32ll << 30, 0, CAGE_QTY_BINARY};
  const std::int32_t nodes[] = {1, 0};
  cage_health health{};
  health.struct_size = sizeof health;
  health.state = CAGE_HEALTH_BAD;
  health.reason = text("XidError");
  health.message = text("xid 79");
  health.timeout_s = 30;
  health.taint = CAGE_TAINT_NO_EXECUTE;
  cage_device given = device("GPU-7");
  given.flags = CAGE_DEVICE_SHARED;
  given.parent_id = text("GPU-0");
  given.pci_bus_id = text("0000:3b:00.0");
  given.numa_nodes = nodes;
  given.numa_count = 2;
  given.attrs = attrs;
  given.attr_count = 5;
  given.capacity = &memory;
  given.capacity_count = 1;
  given.health = &health;

  const auto copied = copy_device(given);
  ASSERT_TRUE(copied) << copied.error().message;
  Device expected;
  expected.id = "GPU-7";
  expected.kind = "gpu";
  expected.parent_id = "GPU-0";
  expected.pci_bus_id = "0000:3b:00.0";
  expected.shared = true;
  expected.numa_nodes = {1, 0};
  expected.attributes = {{"count", std::int64_t{-7}},
                         {"ecc", true},
                         {"example.com/model", std::string("X1")},
                         {"driver", SemVer{"535.104.5"}},
                         {"lanes", std::vector<std::int64_t>{1, 2}}};
  expected.capacity = {{"memory", Quantity{32ll << 30, 0, Quantity::Format::kBinary}}};
  expected.health = {HealthState::kUnhealthy, "XidError", "xid 79", std::chrono::seconds(30), TaintEffect::kNoExecute};
  EXPECT_EQ(*copied, expected);
}

TEST(DeviceCopyTest, RefusesBadIdsAndWords) {
  EXPECT_EQ(refusal(device("")), "id '' is not 1 to 253 printable ASCII characters without spaces");
  EXPECT_EQ(refusal(device("a b")), "id 'a b' is not 1 to 253 printable ASCII characters without spaces");
  EXPECT_THAT(refusal(device(std::string(254, 'x'))), HasSubstr("1 to 253"));
  EXPECT_EQ(refusal(device(std::string(253, 'x'))), "was taken");
  cage_device given = device("d");
  given.id = {nullptr, 3};
  EXPECT_EQ(refusal(given), "id has 3 bytes and no data");
  given = device("d");
  given.kind = text("GPU");
  EXPECT_EQ(refusal(given), "kind 'GPU' is not a word of lower-case letters, digits and '-'");
  given = device("d");
  given.parent_id = text("d");
  EXPECT_EQ(refusal(given), "it is its own parent: leave parent_id empty");
  for (const char* address : {"00000000:3B:00.0", "0000:3B:00.0", "3b:00.0"}) {
    given = device("d");
    given.pci_bus_id = text(address);
    EXPECT_EQ(refusal(given), fmt::format("pci_bus_id '{}' is not an address like 0000:3b:00.0 with four to eight "
                                          "digits of domain, in lower case",
                                          address));
  }
}

TEST(DeviceCopyTest, RefusesAnUnknownFlagOrState) {
  cage_device given = device("d");
  given.flags = CAGE_DEVICE_SHARED | 1u << 4;
  EXPECT_EQ(refusal(given), "flags 0x10 are unknown [R16]");
  cage_health health{};
  health.struct_size = sizeof health;
  given = device("d");
  given.health = &health;
  health.state = 5;
  EXPECT_EQ(refusal(given), "health.state 5 is unknown [R16]");
  health.state = CAGE_HEALTH_UNMONITORED;
  health.taint = 4;
  EXPECT_EQ(refusal(given), "health.taint 4 is unknown [R16]");
}

TEST(DeviceCopyTest, TakesADegradedDeviceWithAValue) {
  cage_health health{};
  health.struct_size = sizeof health;
  health.state = CAGE_HEALTH_DEGRADED;
  health.value = -3.5;
  EXPECT_EQ(copy_health(health)->second.value, std::nullopt) << "its flag is not set";
  health.has_value = 1;
  const auto copied = copy_health(health);
  ASSERT_TRUE(copied) << copied.error().message;
  EXPECT_EQ(copied->second.state, HealthState::kDegraded);
  EXPECT_EQ(copied->second.value, -3.5);
}

TEST(DeviceCopyTest, RefusesABadValue) {
  cage_health health{};
  health.struct_size = sizeof health;
  health.has_value = 2;
  EXPECT_EQ(copy_health(health).error().message, "health.has_value is 2: set it to 0 or 1");
  health.has_value = 1;
  for (const double value : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    health.value = value;
    EXPECT_THAT(copy_health(health).error().message, HasSubstr("is not finite"));
  }
}

TEST(DeviceCopyTest, RefusesABadCauseOrTaint) {
  cage_health health{};
  health.struct_size = sizeof health;
  cage_device given = device("d");
  given.health = &health;
  health.cause = text("row remap");
  EXPECT_EQ(refusal(given),
            "health.cause 'row remap' is not a CamelCase word of at most 64 letters and digits, such as Ecc");
  health.cause = text("Ecc");
  for (const char* key : {"ecc", "example.com/", "/ecc", "Example.com/ecc", "example.com/a b"}) {
    health.taint_key = text(key);
    EXPECT_EQ(refusal(given), fmt::format("health.taint_key '{}' is not the key of a label with a domain, such as "
                                          "example.com/ecc",
                                          key));
  }
  health.taint_key = text("example.com/ecc");
  health.taint_value = text("bank 3");
  EXPECT_THAT(refusal(given), HasSubstr("health.taint_value 'bank 3' is not the value of a label"));
  health.taint_value = text("bank-3");
  EXPECT_EQ(refusal(given), "was taken");
  const auto copied = copy_device(given);
  EXPECT_EQ(copied->health, (Health{.cause = "Ecc", .taint_key = "example.com/ecc", .taint_value = "bank-3"}));
}

TEST(DeviceCopyTest, RefusesAHealthSmallerThanThatOfTheFirstVersion) {
  cage_health health{};
  health.struct_size = offsetof(cage_health, taint_value);
  health.state = CAGE_HEALTH_OK;
  cage_device given = device("d");
  given.health = &health;
  EXPECT_EQ(refusal(given),
            "struct_size of cage_health is 96, expected at least 112: set it to sizeof(cage_health) [R2]");
}

TEST(DeviceCopyTest, RefusesBadAttributes) {
  EXPECT_THAT(refusal(string_attribute("9x", "v")), HasSubstr("attribute name '9x' is not a C identifier"));
  EXPECT_THAT(refusal(string_attribute(std::string(33, 'a'), "v")), HasSubstr("is not a C identifier"));
  EXPECT_EQ(refusal(string_attribute(std::string(63, 'd') + "/x", "v")), "was taken");
  EXPECT_THAT(refusal(string_attribute(std::string(64, 'd') + "/x", "v")), HasSubstr("is not a C identifier"));
  EXPECT_EQ(refusal(string_attribute("s", std::string(64, 'v'))), "was taken");
  EXPECT_THAT(refusal(string_attribute("s", std::string(65, 'v'))),
              HasSubstr("is not at most 64 bytes long: shorten it"));
  EXPECT_EQ(refusal(string_attribute("s", "\xc3\x28")), "attribute 's': value '?(' is not valid UTF-8");
  for (const char* version : {"v1.2.3", "535.104", "1.02.3", "1.2.3-01"})
    EXPECT_THAT(refusal(string_attribute("v", version, CAGE_ATTR_VERSION)), HasSubstr("is not a semantic version"));
  cage_attr given = attribute("b", CAGE_ATTR_BOOL);
  given.v.i = 2;
  EXPECT_EQ(refusal(given), "attribute 'b': value 2 is not a boolean, 0 or 1");
  given = attribute("n", CAGE_ATTR_INT);
  given.count = 3;
  EXPECT_EQ(refusal(given), "attribute 'n': count is 3: set it to 1 for a single value");
  given = attribute("l", CAGE_ATTR_LIST | CAGE_ATTR_STRING);
  given.count = 0;
  EXPECT_EQ(refusal(given), "attribute 'l': list is empty: leave the attribute out");
  EXPECT_EQ(refusal(attribute("t", 99)), "attribute 't': type 99 is unknown [R16]");
}

TEST(DeviceCopyTest, CountsAttributesCapacitiesAndListValues) {
  std::vector<std::string> names;
  for (int i = 0; i < 33; ++i) names.push_back(fmt::format("a{}", i));
  std::vector<cage_attr> attrs;
  for (const std::string& name : names) attrs.push_back(attribute(name, CAGE_ATTR_INT));
  const cage_quantity memory = {text("memory"), 1, 0, CAGE_QTY_DECIMAL};
  cage_device given = device("d");
  given.attrs = attrs.data();
  given.attr_count = 33;
  EXPECT_EQ(refusal(given), "attrs has 33 entries, at most 32 are allowed");
  given.attr_count = 32;
  EXPECT_EQ(refusal(given), "was taken");
  given.capacity = &memory;
  given.capacity_count = 1;
  EXPECT_EQ(refusal(given), "attributes and capacities are 33, at most 32 are allowed");
  given.capacity_count = 0;
  given.attr_count = 30;
  given.pci_bus_id = text("0000:3b:00.0");
  EXPECT_EQ(refusal(given),
            "attributes and capacities are 30, at most 29 are allowed beside the three that the host derives from "
            "pci_bus_id");
  const std::vector<std::int64_t> many(40, 1);
  cage_attr lists[] = {attribute("x", CAGE_ATTR_LIST | CAGE_ATTR_INT), attribute("y", CAGE_ATTR_LIST | CAGE_ATTR_INT)};
  for (cage_attr& list : lists) {
    list.v.ints = many.data();
    list.count = 40;
  }
  given = device("d");
  given.attrs = lists;
  given.attr_count = 2;
  EXPECT_EQ(refusal(given), "attributes have 80 values, at most 48 are allowed");
  lists[1] = lists[0];
  lists[1].count = 1;
  EXPECT_EQ(refusal(given), "attribute 'x' appears twice");
}

TEST(DeviceCopyTest, RefusesBadQuantitiesAndNodes) {
  const std::pair<cage_quantity, const char*> bad[] = {
      {{text("m"), -1, 0, CAGE_QTY_DECIMAL}, "capacity 'm': value -1 is negative"},
      {{text("m"), 1, 0, 9}, "capacity 'm': format 9 is unknown [R16]"},
      {{text("m"), 1, 19, CAGE_QTY_DECIMAL}, "capacity 'm': exp10 19 is not in -9 to 18, or 0 for a binary quantity"},
      {{text("m"), 1, 3, CAGE_QTY_BINARY}, "capacity 'm': exp10 3 is not in -9 to 18, or 0 for a binary quantity"}};
  cage_device given = device("d");
  given.capacity_count = 1;
  for (const auto& [quantity, why] : bad) {
    given.capacity = &quantity;
    EXPECT_EQ(refusal(given), why);
  }
  given = device("d");
  const std::int32_t unknown = -1;
  given.numa_nodes = &unknown;
  given.numa_count = 1;
  EXPECT_EQ(refusal(given), "NUMA node -1 is not in 0 to 1023: leave out what is not known");
}

TEST(DeviceCopyTest, CutsAndRepairsHealthMessagesAtACharacter) {
  std::string message(1023, 'x');
  message += "\xc3\xa9 more";
  cage_health health{};
  health.struct_size = sizeof health;
  health.device_id = text("d");
  health.message = text(message);
  const auto copied = copy_health(health);
  ASSERT_TRUE(copied);
  EXPECT_EQ(copied->second.message, std::string(1023, 'x'));
  health.message = text("line\nnext \xff");
  EXPECT_EQ(copy_health(health)->second.message, "line\nnext ?");
  health.reason = text("xid error");
  EXPECT_THAT(copy_health(health).error().message, HasSubstr("health.reason 'xid error' is not a CamelCase word"));
}

class SnapshotSinkTest : public ::testing::Test {
 protected:
  SnapshotSinkTest() { table = sink.open(); }
  cage_status add(const cage_device& given) { return table->device(table, &given); }
  const cage_snapshot_counters& counters() {
    return *static_cast<const cage_snapshot_counters*>(table->extension(table, CAGE_SNAPSHOT_COUNTERS));
  }
  cage_status consumes(std::string_view id, std::string_view set, const std::vector<cage_quantity>& of) {
    return counters().consumes(table, text(id), text(set), of.data(), static_cast<std::uint32_t>(of.size()));
  }
  cage_status set(std::string_view name, const std::vector<cage_quantity>& of) {
    return counters().set(table, text(name), of.data(), static_cast<std::uint32_t>(of.size()));
  }

  SnapshotSink sink{"m"};
  cage_snapshot* table = nullptr;
  const std::vector<cage_quantity> memory = {{text("memory"), 32, 9, CAGE_QTY_DECIMAL}};
};

TEST_F(SnapshotSinkTest, SortsAndNamesDevices) {
  EXPECT_EQ(add(device("b")), CAGE_OK);
  EXPECT_EQ(add(device("a")), CAGE_OK);
  const Snapshot snapshot = sink.finish();
  ASSERT_THAT(snapshot.devices, SizeIs(2));
  EXPECT_EQ(snapshot.devices[0].name, "a");
  EXPECT_NE(snapshot.find("b"), nullptr);
}

TEST_F(SnapshotSinkTest, TakesTheNamesThatTheModuleChooses) {
  cage_device given = device("GPU-7");
  given.name = text("gpu-0");
  EXPECT_EQ(add(given), CAGE_OK);
  given.id = text("GPU-8");
  EXPECT_EQ(add(given), CAGE_ALREADY_EXISTS);
  given.name = text("GPU");
  EXPECT_EQ(add(given), CAGE_INVALID_ARGUMENT);
  EXPECT_EQ(add(device("gpu-0")), CAGE_OK);
  const Snapshot snapshot = sink.finish();
  ASSERT_THAT(snapshot.devices, SizeIs(2));
  EXPECT_EQ(snapshot.find("GPU-7")->name, "gpu-0");
  EXPECT_THAT(snapshot.find("gpu-0")->name, StartsWith("gpu-0-"));
  EXPECT_THAT(snapshot.left_out,
              ElementsAre(Pair("GPU-8", "another device has the name 'gpu-0': names are unique in an instance")));
}

TEST_F(SnapshotSinkTest, TakesDevicesOfTheFirstVersion) {
  cage_device given = device("a");
  EXPECT_EQ(given.struct_size, offsetof(cage_device, name) + sizeof(cage_str)) << "a member was added: keep its size";
  EXPECT_EQ(add(given), CAGE_OK);
  given.struct_size -= 1;
  EXPECT_EQ(add(given), CAGE_INVALID_ARGUMENT);
}

TEST_F(SnapshotSinkTest, RefusesASecondDeviceWithTheSameIdAndKeepsTheFirst) {
  EXPECT_EQ(add(device("a")), CAGE_OK);
  EXPECT_EQ(add(device("a")), CAGE_ALREADY_EXISTS);
  EXPECT_THAT(sink.finish().devices, SizeIs(1));
}

TEST_F(SnapshotSinkTest, RefusesNullAndShortStructs) {
  EXPECT_EQ(table->device(table, nullptr), CAGE_INVALID_ARGUMENT);
  cage_device given = device("a");
  given.struct_size = 8;
  EXPECT_EQ(add(given), CAGE_INVALID_ARGUMENT);
  EXPECT_TRUE(sink.finish().devices.empty());
}

TEST_F(SnapshotSinkTest, StopsAtTenThousandDevices) {
  for (std::size_t i = 0; i < kMaxDevices; ++i) ASSERT_EQ(add(device(fmt::format("d{}", i))), CAGE_OK);
  EXPECT_EQ(add(device("one-more")), CAGE_RESOURCE_EXHAUSTED);
  EXPECT_THAT(sink.finish().devices, SizeIs(kMaxDevices));
}

TEST_F(SnapshotSinkTest, AcceptsCountersInAnyOrder) {
  EXPECT_EQ(consumes("a", "card-0", memory), CAGE_OK);
  EXPECT_EQ(add(device("a")), CAGE_OK);
  EXPECT_EQ(set("card-0", memory), CAGE_OK);
  const Snapshot snapshot = sink.finish();
  ASSERT_THAT(snapshot.devices, SizeIs(1));
  EXPECT_EQ(snapshot.devices[0].consumes,
            (std::vector<CounterUse>{{"card-0", {{"memory", Quantity{32, 9, Quantity::Format::kDecimal}}}}}));
  EXPECT_TRUE(snapshot.counter_sets.contains("card-0"));
}

// Without its counters, such a device could be allocated together with the others on its card.
TEST_F(SnapshotSinkTest, LeavesOutDevicesWithInvalidCounters) {
  for (const char* id : {"good", "no-set", "no-counter", "bad-name", "three-sets"}) ASSERT_EQ(add(device(id)), CAGE_OK);
  EXPECT_EQ(set("card-0", memory), CAGE_OK);
  EXPECT_EQ(set("card-0", memory), CAGE_ALREADY_EXISTS);
  EXPECT_EQ(set("Card", memory), CAGE_INVALID_ARGUMENT);
  EXPECT_EQ(set("empty", {}), CAGE_INVALID_ARGUMENT);
  EXPECT_EQ(consumes("no-set", "card-9", memory), CAGE_OK);
  EXPECT_EQ(consumes("no-counter", "card-0", {{text("cores"), 1, 0, CAGE_QTY_DECIMAL}}), CAGE_OK);
  EXPECT_EQ(consumes("bad-name", "card-0", {{text("Cores"), 1, 0, CAGE_QTY_DECIMAL}}), CAGE_INVALID_ARGUMENT);
  EXPECT_EQ(consumes("three-sets", "card-0", memory), CAGE_OK);
  EXPECT_EQ(consumes("three-sets", "card-0", memory), CAGE_OK);
  EXPECT_EQ(consumes("three-sets", "card-0", memory), CAGE_INVALID_ARGUMENT);
  const Snapshot snapshot = sink.finish();
  ASSERT_THAT(snapshot.devices, SizeIs(1));
  EXPECT_EQ(snapshot.devices[0].id, "good");
  EXPECT_THAT(snapshot.left_out,
              ElementsAre(Pair("bad-name", HasSubstr("its use of counters is refused: counter name 'Cores'")),
                          Pair("no-counter", "counter set 'card-0' has no counter 'cores'"),
                          Pair("no-set", "there is no counter set 'card-9'"),
                          Pair("three-sets", HasSubstr("at most 2 counter sets"))));
}

TEST_F(SnapshotSinkTest, NamesAFewOfManyDevicesThatAreLeftOut) {
  static int round = 0;  // the log repeats no line within seconds
  ++round;
  std::size_t logged = 0;
  divert_log([&logged](LogLevel, std::string_view message, std::initializer_list<LogField>) {
    if (message.starts_with("device is left out: ")) ++logged;
  });
  for (int i = 0; i < 100; ++i) EXPECT_EQ(add(device(fmt::format("bad id {} {}", round, i))), CAGE_INVALID_ARGUMENT);
  divert_log({});
  EXPECT_EQ(logged, kMaxLeftOut);
  EXPECT_THAT(sink.finish().left_out, SizeIs(kMaxLeftOut));
  table = sink.open();
  EXPECT_THAT(sink.finish().left_out, IsEmpty());
}

TEST_F(SnapshotSinkTest, KeepsWhyHardwareIsNotOffered) {
  const auto& family =
      *static_cast<const cage_snapshot_not_offered*>(table->extension(table, CAGE_SNAPSHOT_NOT_OFFERED));
  const auto add = [&](std::string_view name, std::string_view reason) {
    return family.add(table, text(name), text(reason));
  };
  EXPECT_EQ(add("0000:3b:00.0", "it has no\x1b driver"), CAGE_OK);
  EXPECT_EQ(add("eth0", "first"), CAGE_OK);
  EXPECT_EQ(add("eth0", "it has the node's default route"), CAGE_OK) << "the last reason counts";
  EXPECT_EQ(add("", "why"), CAGE_INVALID_ARGUMENT);
  EXPECT_EQ(add("eth1", ""), CAGE_INVALID_ARGUMENT);
  EXPECT_EQ(add(std::string(64, 'x'), "why"), CAGE_INVALID_ARGUMENT);
  EXPECT_EQ(add("eth1", std::string(1025, 'x')), CAGE_INVALID_ARGUMENT);
  const Snapshot snapshot = sink.finish();
  EXPECT_THAT(snapshot.not_offered,
              ElementsAre(Pair("0000:3b:00.0", "it has no? driver"), Pair("eth0", "it has the node's default route")));
  EXPECT_THAT(snapshot.left_out, IsEmpty());
  table = sink.open();
  for (std::size_t i = 0; i < kMaxNotOffered; ++i) EXPECT_EQ(add(fmt::format("eth{}", i), "why"), CAGE_OK);
  EXPECT_EQ(add("one-more", "why"), CAGE_RESOURCE_EXHAUSTED);
  EXPECT_EQ(add("eth0", "another"), CAGE_RESOURCE_EXHAUSTED);
  EXPECT_THAT(sink.finish().not_offered, SizeIs(kMaxNotOffered));
  EXPECT_THAT((sink.open(), sink.finish().not_offered), IsEmpty());
}

TEST_F(SnapshotSinkTest, RefusesUseAfterTheCallAndFromAnotherThread) {
  std::thread([&] { EXPECT_EQ(add(device("a")), CAGE_FAILED_PRECONDITION); }).join();
  EXPECT_TRUE(sink.finish().devices.empty());
  EXPECT_EQ(add(device("a")), CAGE_FAILED_PRECONDITION);
  EXPECT_EQ(set("card-0", memory), CAGE_FAILED_PRECONDITION);
}

TEST_F(SnapshotSinkTest, OffersNoOtherExtension) {
  EXPECT_EQ(table->extension(table, "cage.snapshot.counters/2"), nullptr);
  EXPECT_EQ(table->extension(table, nullptr), nullptr);
}

}  // namespace
}  // namespace cardcage
