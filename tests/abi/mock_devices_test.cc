// The mock's devices as discover() reports them, its options and its preference.
#include <gmock/gmock.h>

#include <set>

#include "tests/abi/raw_host.h"

namespace cardcage::raw {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::Pair;
using Strings = std::vector<std::string>;

TEST(MockDevices, TheTableIsCompleteAndIdentifiesTheModule) {
  ASSERT_NE(mock(), nullptr);
  EXPECT_EQ(mock()->magic, CAGE_MAGIC);
  EXPECT_EQ(mock()->struct_size, sizeof(cage_module));
  EXPECT_EQ(view(mock()->id), "dev.cardcage.mock");
  ASSERT_EQ(mock()->schema_count, 3U);
  EXPECT_EQ(view(mock()->schemas[0]->api_version), "mock.cardcage.dev/v1alpha1");
  EXPECT_EQ(view(mock()->schemas[0]->kind), "DeviceConfig");
  EXPECT_NE(mock()->extension(CAGE_EXT_PREFERRED), nullptr);
  EXPECT_NE(mock()->extension(CAGE_EXT_RECONCILE), nullptr);
  EXPECT_NE(mock()->extension(CAGE_EXT_BIND), nullptr);
  EXPECT_EQ(mock()->extension("cage.unheard-of/1"), nullptr);
}

TEST(MockDevices, DefaultOptionsGiveAUsefulDemo) {
  Instance instance(mock(), {});
  ASSERT_EQ(instance.created, CAGE_OK) << instance.explanation;
  const auto snapshot = instance.discover();
  ASSERT_EQ(snapshot->devices.size(), 8U);
  const FoundDevice& gpu = snapshot->devices.at("gpu-0");
  EXPECT_EQ(gpu.kind, "gpu");
  EXPECT_THAT(gpu.attrs,
              IsSupersetOf({Pair("model", "Mock G100"), Pair("index", "0"), Pair("architecture", "Mockwell"),
                            Pair("driverVersion", "version 580.65.6"), Pair("computeCapability", "version 9.0.0")}));
  EXPECT_EQ(gpu.capacity.at("memory"), std::int64_t{32} << 30);
  EXPECT_EQ(gpu.health.state, std::uint32_t{CAGE_HEALTH_OK});
  EXPECT_FALSE(gpu.shared);
  EXPECT_THAT(snapshot->devices.at("fpga-1").attrs, IsSupersetOf({Pair("region", "d501")}));
  EXPECT_THAT(snapshot->devices.at("nic-1").attrs, IsSupersetOf({Pair("rdma", "true"), Pair("linkSpeed", "400")}));
  EXPECT_TRUE(snapshot->counter_sets.empty());
}

TEST(MockDevices, CanHaveUuidsAsIds) {
  Instance instance(mock(), {{"devices", Strings{"gpu:2"}}, {"uuid_ids", true}, {"partitions", std::int64_t{2}}});
  const auto snapshot = instance.discover();
  std::set<std::string> names;
  for (const auto& [id, device] : snapshot->devices) {
    EXPECT_EQ(id, device.attrs.at("uuid"));
    names.insert(device.name);
  }
  EXPECT_THAT(names,
              testing::ElementsAre("gpu-0", "gpu-0-part-0", "gpu-0-part-1", "gpu-1", "gpu-1-part-0", "gpu-1-part-1"));
}

TEST(MockDevices, IdentitiesAndPlacesAreUniqueAndTheSameAtEveryStart) {
  Instance first(mock(), {}), second(mock(), {}), seeded(mock(), {{"seed", "node-2"}});
  const auto before = first.discover(), again = second.discover(), elsewhere = seeded.discover();
  std::set<std::string> uuids, places;
  std::map<std::int32_t, int> per_socket;
  for (const auto& [id, device] : before->devices) {
    uuids.insert(device.attrs.at("uuid"));
    places.insert(device.pci);
    ++per_socket[device.numa.at(0)];
    EXPECT_EQ(again->devices.at(id).attrs, device.attrs);
    EXPECT_EQ(again->devices.at(id).pci, device.pci);
    EXPECT_NE(elsewhere->devices.at(id).attrs.at("uuid"), device.attrs.at("uuid"));
  }
  EXPECT_EQ(uuids.size(), 8U);
  EXPECT_EQ(places.size(), 8U);
  EXPECT_THAT(per_socket, testing::ElementsAre(Pair(0, 4), Pair(1, 4)));
}

TEST(MockDevices, TenThousandDevicesAreAllDifferent) {
  Instance instance(mock(), {{"devices", Strings{"gpu:9990", "tpu:10"}}});
  ASSERT_EQ(instance.created, CAGE_OK) << instance.explanation;
  const auto snapshot = instance.discover();
  EXPECT_EQ(snapshot->devices.size(), 10'000U);
  std::set<std::string> places;
  for (const auto& [id, device] : snapshot->devices) places.insert(device.pci);
  EXPECT_EQ(places.size(), 10'000U);
}

TEST(MockDevices, OneDeviceTooManyIsRefused) {
  const Instance instance(mock(), {{"devices", Strings{"gpu:9999", "nic:2"}}});
  EXPECT_EQ(instance.created, CAGE_INVALID_ARGUMENT);
  EXPECT_THAT(instance.explanation, AllOf(HasSubstr("10001"), HasSubstr("10000")));
}

TEST(MockDevices, AMalformedDeviceListIsNamedInTheError) {
  for (const char* text : {"", ":3", "gpu:", "gpu:-1", "gpu:1x", "GPU:1", "9gpu:1", "g p u:1",
                           "gpu:99999999999999999999", "averyveryverylongkind:1"}) {
    const Instance instance(mock(), {{"devices", Strings{text}}});
    EXPECT_EQ(instance.created, CAGE_INVALID_ARGUMENT) << text;
    EXPECT_THAT(instance.explanation, HasSubstr("'devices'")) << text;
  }
  const Instance twice(mock(), {{"devices", Strings{"gpu:1", "gpu:2"}}});
  EXPECT_THAT(twice.explanation, HasSubstr("kind 'gpu' is there twice"));
}

TEST(MockDevices, PartitionsShareTheCountersOfTheirGpu) {
  Instance instance(mock(), {{"devices", Strings{"gpu:1", "nic:1"}}, {"partitions", std::int64_t{2}}});
  const auto snapshot = instance.discover();
  ASSERT_EQ(snapshot->devices.size(), 4U);
  const FoundDevice& part = snapshot->devices.at("gpu-0-part-1");
  EXPECT_EQ(part.parent, "gpu-0");
  EXPECT_EQ(part.pci, snapshot->devices.at("gpu-0").pci);
  EXPECT_THAT(part.attrs, AllOf(Contains(Pair("profile", "1of2")),
                                Contains(Pair("parentUUID", snapshot->devices.at("gpu-0").attrs.at("uuid")))));
  const std::int64_t gib = std::int64_t{1} << 30;
  EXPECT_THAT(snapshot->counter_sets.at("gpu-0"), testing::ElementsAre(Pair("memory", 32 * gib), Pair("slices", 2)));
  EXPECT_EQ(snapshot->consumes.at("gpu-0"), snapshot->counter_sets.at("gpu-0"));
  EXPECT_THAT(snapshot->consumes.at("gpu-0-part-0"), testing::ElementsAre(Pair("memory", 16 * gib), Pair("slices", 1)));
  EXPECT_FALSE(snapshot->consumes.contains("nic-0"));
}

TEST(MockDevices, PartitionsAreNotOfferedToAHostWithoutCounters) {
  Instance instance(mock(), {{"partitions", std::int64_t{2}}});
  Snapshot snapshot(false);
  const Call call;
  EXPECT_EQ(mock()->discover(instance.get(), call.get(), snapshot.get()), CAGE_FAILED_PRECONDITION);
  EXPECT_THAT(call.explanation, HasSubstr("cage.snapshot.counters/1"));
  EXPECT_TRUE(snapshot.devices.empty());
}

TEST(MockDevices, RequestPoliciesAreThoseOfTheKind) {
  Instance instance(mock(), {{"devices", Strings{"gpu:1", "fpga:1"}},
                             {"shared", true},
                             {"shared_capacity", Strings{"gpu memory 4Gi range 2Gi 16Gi 2Gi",
                                                         "gpu slices 1 values 500m 1", "fpga memory 1k"}}});
  const auto snapshot = instance.discover();
  EXPECT_THAT(snapshot->policies.at("gpu-0"),
              testing::ElementsAre(Pair("memory", "4294967296 of 2147483648 to 17179869184 by 2147483648"),
                                   Pair("slices", "1 of 500e-3, 1")));
  EXPECT_THAT(snapshot->policies.at("fpga-0"), testing::ElementsAre(Pair("memory", "1e3")));
}

TEST(MockDevices, AMalformedPolicyIsNamedInTheError) {
  for (const char* line : {"gpu", "gpu memory", "gpu memory much", "gpu memory 4 range", "gpu memory 4 some 1",
                           "gpu memory 4 range 1 2 3 4", "gpu memory 4 values 1 2x"}) {
    const Instance instance(mock(), {{"shared_capacity", Strings{line}}});
    EXPECT_EQ(instance.created, CAGE_INVALID_ARGUMENT) << line;
    EXPECT_THAT(instance.explanation, HasSubstr("'shared_capacity'")) << line;
  }
}

TEST(MockDevices, PoliciesAreNotDroppedByAHostWithoutThem) {
  Instance instance(mock(), {{"shared_capacity", Strings{"gpu memory 4Gi"}}});
  Snapshot snapshot(false);
  const Call call;
  EXPECT_EQ(mock()->discover(instance.get(), call.get(), snapshot.get()), CAGE_FAILED_PRECONDITION);
  EXPECT_THAT(call.explanation, HasSubstr("cage.snapshot.policy/1"));
}

TEST(MockDevices, DevicesOfTheKindHaveBindingConditions) {
  Instance instance(mock(), {{"devices", Strings{"gpu:1", "fpga:1"}}, {"binding", Strings{"gpu"}}});
  const std::string conditions = "mock.cardcage.dev/Attached or mock.cardcage.dev/AttachFailed";
  EXPECT_THAT(instance.discover()->bindings, testing::ElementsAre(Pair("gpu-0", conditions)));
  Instance to_node(mock(), {{"devices", Strings{"gpu:1"}}, {"binding", Strings{"gpu"}}, {"binds_to_node", true}});
  EXPECT_THAT(to_node.discover()->bindings, testing::ElementsAre(Pair("gpu-0", conditions + " to node")));
}

TEST(MockDevices, BindingsAreNotDroppedByAHostWithoutThem) {
  Instance instance(mock(), {{"binding", Strings{"gpu"}}});
  Snapshot snapshot(false);
  const Call call;
  EXPECT_EQ(mock()->discover(instance.get(), call.get(), snapshot.get()), CAGE_FAILED_PRECONDITION);
  EXPECT_THAT(call.explanation, HasSubstr("cage.snapshot.binding/1"));
}

TEST(MockDevices, AGpuThatIsOfferedInPartitionsOnlySaysSo) {
  Instance instance(mock(),
                    {{"devices", Strings{"gpu:1"}}, {"partitions", std::int64_t{2}}, {"partitions_only", true}});
  EXPECT_THAT(instance.discover()->not_offered,
              testing::ElementsAre(Pair("gpu-0", "option 'partitions_only' offers only its partitions")));
}

TEST(MockDevices, SharedDevicesAreMarkedAsShared) {
  Instance instance(mock(), {{"shared", true}});
  EXPECT_TRUE(instance.discover()->devices.at("gpu-0").shared);
}

std::vector<std::string> chosen(Instance& instance, const std::vector<std::string>& available,
                                const std::vector<std::string>& required, std::uint32_t want, cage_status expected) {
  struct Sink {
    cage_id_sink raw{};
    std::vector<std::string> ids;
  } sink;
  sink.raw.struct_size = sizeof sink.raw;
  sink.raw.host_data = &sink;
  sink.raw.id = [](cage_id_sink* self, cage_str id) {
    static_cast<Sink*>(self->host_data)->ids.emplace_back(view(id));
    return cage_status{CAGE_OK};
  };
  std::vector<cage_str> offered, needed;
  for (const auto& id : available) offered.push_back(str(id));
  for (const auto& id : required) needed.push_back(str(id));
  const auto* family = static_cast<const cage_preferred*>(mock()->extension(CAGE_EXT_PREFERRED));
  const Call call;
  EXPECT_EQ(family->choose(instance.get(), call.get(), offered.data(), static_cast<std::uint32_t>(offered.size()),
                           needed.data(), static_cast<std::uint32_t>(needed.size()), want, &sink.raw),
            expected)
      << call.explanation;
  return sink.ids;
}

TEST(MockPreferred, DevicesOfOneSocketAreChosenTogether) {
  Instance instance(mock(), {{"devices", Strings{"gpu:8"}}});
  const Strings all = {"gpu-0", "gpu-3", "gpu-4", "gpu-5", "gpu-7"};
  EXPECT_THAT(chosen(instance, all, {}, 2, CAGE_OK), testing::ElementsAre("gpu-4", "gpu-5"));
  EXPECT_THAT(chosen(instance, all, {"gpu-3"}, 2, CAGE_OK), testing::ElementsAre("gpu-3", "gpu-0"));
  EXPECT_THAT(chosen(instance, all, {}, 5, CAGE_OK), testing::SizeIs(5));
  EXPECT_THAT(chosen(instance, all, {}, 0, CAGE_OK), testing::IsEmpty());
}

TEST(MockPreferred, ImpossibleRequestsAreRefused) {
  Instance instance(mock(), {{"devices", Strings{"gpu:8"}}});
  chosen(instance, {"gpu-0"}, {}, 2, CAGE_INVALID_ARGUMENT);
  chosen(instance, {"gpu-0"}, {"gpu-1"}, 1, CAGE_INVALID_ARGUMENT);
  chosen(instance, {"gpu-0", "gpu-0"}, {}, 1, CAGE_INVALID_ARGUMENT);
  chosen(instance, {"gpu-99"}, {}, 1, CAGE_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace cardcage::raw
