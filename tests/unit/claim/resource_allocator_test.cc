#include "host/claim/resource_allocator.h"

#include <gmock/gmock.h>

#include <future>

#include "tests/unit/claim/allocator_world.h"
#include "tests/unit/ledger/sync_counter.h"

namespace cardcage {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

using ResourceAllocatorTest = AllocatorWorld;

TEST_F(ResourceAllocatorTest, HandsDevicesOutAndTakesThemBack) {
  const auto grant = allocate({"GPU-0", "GPU-1"});
  ASSERT_TRUE(grant) << text_of(grant);
  EXPECT_THAT(grant->cdi_devices, ElementsAre(kGpu0, "cardcage.example.com_gpu/device=gpu-1"));
  EXPECT_EQ(*grant, (ContainerGrant{grant->cdi_devices, {}, {}})) << "edits are delivered in one way only";
  EXPECT_EQ(read_file(cdi.folder() / "cardcage.example.com_gpu-device_gpu-0.json", 4096).value(),
            R"({"cdiVersion":"0.3.0","kind":"cardcage.example.com_gpu/device","devices":[)"
            R"({"name":"gpu-0","containerEdits":{"env":["FAKE_GPU_0=GPU-0"]}}]})"
            "\n");
  const ModuleClaim& heard = gpus->holds["gpu-0"];
  EXPECT_EQ(heard.ref, (ClaimRef{"", "", "gpu-0"})) << "the pod is not known yet";
  EXPECT_EQ(heard.allocations[0].device_id, "GPU-0");

  allocator->seen("GPU-0", {"team", "train", "main"});
  advance_at_rest(std::chrono::minutes(5));
  ASSERT_TRUE(release("GPU-0"));
  EXPECT_EQ(held("gpu-0"), nullptr);
  EXPECT_THAT(gpus->holds, ElementsAre(Pair("gpu-1", ::testing::_)));
  EXPECT_FALSE(cdi.read({{Api::kDevicePlugin, kResource}, "gpu-0"})) << "its file is gone";
  const auto history = run(ledger->history({.claim = "team/train"}));
  ASSERT_THAT(*history, SizeIs(1));
  EXPECT_EQ(history->front().device, "gpu-0");
  EXPECT_EQ(history->front().request, "main");
  EXPECT_EQ(history->front().held(), std::chrono::minutes(5));
  EXPECT_TRUE(release("GPU-0")) << "a second time";
}

TEST_F(ResourceAllocatorTest, AnotherContainerOfThePodGetsTheDeviceAsItIs) {
  const auto first = allocate({"GPU-0"});
  ASSERT_TRUE(first);
  EXPECT_EQ(allocate({"GPU-0"}), first) << "first for the init container, then for the app container";
  EXPECT_EQ(gpus->count<PrepareCall>(), 1);
  EXPECT_EQ(gpus->count<UnprepareCall>(), 0);
  EXPECT_THAT(holders("gpu-0"), SizeIs(1));
}

TEST_F(ResourceAllocatorTest, AnotherPodGetsTheDevicePreparedAgain) {
  ASSERT_TRUE(allocate({"GPU-0"}));
  allocator->seen("GPU-0", {"team", "first", "main"});
  ASSERT_TRUE(allocate({"GPU-0"})) << "the kubelet knows first that the earlier pod is gone";
  EXPECT_EQ(gpus->count<UnprepareCall>(), 1);
  EXPECT_EQ(gpus->count<PrepareCall>(), 2);
  ASSERT_THAT(holders("gpu-0"), SizeIs(1));
  EXPECT_EQ(holders("gpu-0")[0].pod, "");
  EXPECT_THAT(*run(ledger->history({.claim = "team/first"})), SizeIs(1));

  let_the_pod_run();
  ASSERT_TRUE(allocate({"GPU-0"})) << "the kubelet never reported the earlier pod";
  EXPECT_EQ(gpus->count<UnprepareCall>(), 2);
}

TEST_F(ResourceAllocatorTest, AnotherPodGetsNothingWhileTheCleanUpFails) {
  ASSERT_TRUE(allocate({"GPU-0"}));
  let_the_pod_run();
  gpus->fail<UnprepareCall>({Code::kInternal, "memory scrub failed"});
  const auto refused = allocate({"GPU-0"});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("cannot clean up after an earlier pod"));
  EXPECT_THAT(refused.error().message, HasSubstr("memory scrub failed"));
}

TEST_F(ResourceAllocatorTest, ReplicasShareOnePreparation) {
  serve({.replicas = 4});
  ASSERT_TRUE(allocate({"GPU-0::0"}));
  let_the_pod_run();
  const auto second = allocate({"GPU-0::3"});
  ASSERT_TRUE(second);
  EXPECT_THAT(second->cdi_devices, ElementsAre(kGpu0));
  EXPECT_EQ(gpus->count<PrepareCall>(), 1);
  EXPECT_THAT(holders("gpu-0"), SizeIs(2));
  ASSERT_TRUE(release("GPU-0::0"));
  EXPECT_EQ(gpus->count<UnprepareCall>(), 0) << "the other container still has it";
  EXPECT_THAT(*run(ledger->history({})), SizeIs(1));
  ASSERT_TRUE(release("GPU-0::3"));
  EXPECT_EQ(gpus->count<UnprepareCall>(), 1);
  EXPECT_THAT(*run(ledger->history({})), SizeIs(2));
}

TEST_F(ResourceAllocatorTest, TwoReplicasForOneContainerAreOneDevice) {
  serve({.replicas = 4});
  const auto grant = allocate({"GPU-0::0", "GPU-0::1"});
  ASSERT_TRUE(grant);
  EXPECT_THAT(grant->cdi_devices, ElementsAre(kGpu0));
  EXPECT_THAT(holders("gpu-0"), SizeIs(2));
}

TEST_F(ResourceAllocatorTest, MoreThanOneReplicaIsRefusedIfConfigured) {
  serve({.replicas = 4, .fail_requests_greater_than_one = true});
  const auto refused = allocate({"GPU-0::0", "GPU-1::0"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kInvalidArgument);
  EXPECT_THAT(refused.error().message, HasSubstr("write 1 in its limits"));
  EXPECT_TRUE(allocate({"GPU-0::0"}));
}

TEST_F(ResourceAllocatorTest, AnUnknownIdAndNoIdAreErrors) {
  const auto unknown = allocate({"GPU-0", "GPU-777"});
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, Code::kNotFound);
  EXPECT_THAT(unknown.error().message, HasSubstr("device 'GPU-777' of resource 'example.com/gpu'"));
  EXPECT_THAT(gpus->holds, IsEmpty()) << "all or nothing";
  EXPECT_EQ(allocate({}).error().code, Code::kInvalidArgument);
}

TEST_F(ResourceAllocatorTest, ADeviceThatFailsIsNotOfferedForAWhile) {
  const Device device = directory.locate(kResource, "", "gpu-0")->device;
  EXPECT_FALSE(unavailable(device));
  gpus->fail<PrepareCall>({Code::kInternal, "no power in slot 3"});
  const auto refused = allocate({"GPU-0"});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message,
              HasSubstr("device 'gpu-0' of resource 'example.com/gpu': module 'gpus' cannot prepare"));
  EXPECT_THAT(refused.error().message, HasSubstr("no power in slot 3"));
  EXPECT_THAT(unavailable(device)->message, HasSubstr("no power in slot 3"));
  EXPECT_FALSE(unavailable(directory.device("gpu-1")));
  const int before = changes;
  clock.advance(std::chrono::seconds(10));
  settle();
  EXPECT_FALSE(unavailable(device));
  EXPECT_GT(changes, before) << "the list has to be rebuilt";
  EXPECT_TRUE(allocate({"GPU-0"}));
}

TEST_F(ResourceAllocatorTest, AModuleThatHangsIsReportedAtTheDeadlineAndDoesNotHoldOthers) {
  gpus->block<PrepareCall>();
  const auto answer = begin(allocator->allocate({"GPU-0"}, soon()));
  const auto other = begin(allocator->allocate({"NIC-0"}, soon()));
  ASSERT_TRUE(until([&] { return other->has_value() && gpus->count<PrepareCall>() == 1; }));
  EXPECT_FALSE(answer->has_value());
  clock.advance(std::chrono::seconds(6));
  ASSERT_TRUE(until([&] { return answer->has_value(); }));
  EXPECT_EQ((*answer)->error().code, Code::kDeadlineExceeded);
  EXPECT_TRUE((*other)->has_value());
  gpus->unblock<PrepareCall>();
  settle();
}

TEST_F(ResourceAllocatorTest, AnAllocateWaitsForAModuleThatRestarts) {
  directory.restart_module("gpus");
  const auto answer = begin(allocator->allocate({"GPU-0"}, soon()));
  settle();
  EXPECT_FALSE(answer->has_value());
  directory.start_module("gpus", gpus);
  ASSERT_TRUE(until([&] { return answer->has_value(); }));
  EXPECT_TRUE(**answer) << text_of(**answer);
}

// The kubelet does not call again: it rejects the pod.
TEST_F(ResourceAllocatorTest, AnAllocateThatItsModuleDoesNotSurviveIsMadeOnceMore) {
  gpus->block<PrepareCall>();
  gpus->fail<PrepareCall>({Code::kUnavailable, "module 'gpus' is gone: its worker was killed by signal 9"});
  const auto answer = begin(allocator->allocate({"GPU-0"}, soon()));
  ASSERT_TRUE(until([&] { return gpus->count<PrepareCall>() == 1; }));
  directory.restart_module("gpus");
  gpus->unblock<PrepareCall>();
  settle();
  EXPECT_FALSE(answer->has_value());
  directory.start_module("gpus", gpus);
  ASSERT_TRUE(until([&] { return answer->has_value(); }));
  EXPECT_TRUE(**answer) << text_of(**answer);
  EXPECT_EQ(gpus->count<PrepareCall>(), 2);
}

// The response may be sent before the note is written.
TEST_F(ResourceAllocatorTest, AHostKilledRightAfterItsResponseKnowsTheDevice) {
  const auto copy = [](const std::filesystem::path& from, const std::filesystem::path& to) {
    using Options = std::filesystem::copy_options;
    std::filesystem::create_directories(to);
    std::filesystem::copy(from, to, Options::recursive | Options::overwrite_existing);
  };
  ASSERT_TRUE(allocate({"GPU-0"}));
  for (const char* name : {"state", "run"}) copy(folder / name, folder / "kill" / name);
  allocator.reset();
  lose_ledger();
  for (const char* name : {"state", "run"}) copy(folder / "kill" / name, folder / name);
  restart();
  ASSERT_NE(held("gpu-0"), nullptr);
  EXPECT_EQ(held("gpu-0")->phase, ClaimPhase::kPrepared);
  EXPECT_TRUE(cdi.read({{Api::kDevicePlugin, kResource}, "gpu-0"})) << "the container may start at this moment";
  EXPECT_TRUE(run(allocator->restore(soon())));
  EXPECT_EQ(gpus->count<PrepareCall>(), 1) << "the record is certain";
  allocator->seen("GPU-0", {"team", "train", "main"});
  ASSERT_THAT(holders("gpu-0"), SizeIs(1));
  ASSERT_TRUE(release("GPU-0"));
  EXPECT_THAT(gpus->holds, IsEmpty());
  EXPECT_THAT(run(ledger->history({}))->at(0).ref.name, "train");
}

TEST_F(ResourceAllocatorTest, ADeviceIsNeverHeldThroughBothApis) {
  ASSERT_TRUE(prepare_new("u1", {an_allocation("gpu-0")}));
  const auto refused = allocate({"GPU-0"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kAlreadyExists);
  EXPECT_THAT(refused.error().message, HasSubstr("claim team/claim-u1"));
  advance_at_rest(std::chrono::minutes(1));
  EXPECT_EQ(unavailable(directory.device("gpu-0"))->reason, "InUse");

  ASSERT_TRUE(allocate({"GPU-1"}));
  const auto claim = prepare_new("u2", {an_allocation("gpu-1")});
  ASSERT_FALSE(claim);
  EXPECT_EQ(claim.error().code, Code::kAlreadyExists);
}

TEST_F(ResourceAllocatorTest, AWholeDeviceAndItsPartitionAreNotHeldTogether) {
  directory.device("gpu-1").parent_id = directory.device("gpu-2").parent_id = "GPU-0";
  ASSERT_TRUE(allocate({"GPU-1"}));
  ASSERT_TRUE(allocate({"GPU-2"})) << "partitions are independent of each other";
  const auto refused = allocate({"GPU-0"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kAlreadyExists);
  EXPECT_THAT(refused.error().message, HasSubstr("device 'gpu-0' is not free: device 'gpu-1', a part of the same "
                                                 "hardware, is prepared for resource 'example.com/gpu'"));
  EXPECT_FALSE(prepare_new("u1", {an_allocation("gpu-0")})) << "nor through DRA";
  advance_at_rest(std::chrono::minutes(1));
  EXPECT_EQ(unavailable(directory.device("gpu-0"))->reason, "PartitionInUse");
  EXPECT_FALSE(unavailable(directory.device("gpu-1")));
  ASSERT_TRUE(release("GPU-1"));
  ASSERT_TRUE(release("GPU-2"));
  EXPECT_FALSE(unavailable(directory.device("gpu-0")));
  ASSERT_TRUE(allocate({"GPU-0"}));
  EXPECT_EQ(unavailable(directory.device("gpu-1"))->reason, "PartitionInUse");
}

TEST_F(ResourceAllocatorTest, TellsOfPartitionsThatAreTakenAndReleased) {
  directory.device("gpu-1").parent_id = "GPU-0";
  ASSERT_TRUE(allocate({"GPU-0"}));
  EXPECT_THAT(host.partitions_changed, ElementsAre("gpus"));
  ASSERT_TRUE(release("GPU-0"));
  EXPECT_THAT(host.partitions_changed, SizeIs(2));
  ASSERT_TRUE(allocate({"GPU-5"}));
  EXPECT_THAT(host.partitions_changed, SizeIs(2)) << "it has no parent";
}

TEST_F(ResourceAllocatorTest, HandingOutDoesNotWaitForTheDisk) {
  const SyncCounter counter;
  restart();
  ASSERT_TRUE(allocate({"GPU-1"})) << "the first write creates the log";
  const int before = counter.syncs();
  ASSERT_TRUE(allocate({"GPU-0"}));
  EXPECT_EQ(counter.syncs(), before);
  allocator.reset();
  ledger.reset();
}

TEST_F(ResourceAllocatorTest, EditsAreDeliveredAsConfigured) {
  gpus->edits = [](const ModuleClaim&) {
    PreparedEdits edits;
    edits.claim.env.push_back({"ALL", "1"});
    edits.allocations.resize(1);
    edits.allocations[0].device_nodes.push_back({.path = "/dev/gpu0", .permissions = "rw"});
    return edits;
  };
  serve({.deliver = Delivery::kDirect});
  const auto direct = allocate({"GPU-0", "GPU-1"});
  ASSERT_TRUE(direct);
  EXPECT_THAT(direct->cdi_devices, IsEmpty());
  EXPECT_THAT(direct->edits.env, ElementsAre(EnvVar{"ALL", "1"}));
  EXPECT_THAT(direct->edits.device_nodes, SizeIs(1)) << "both devices give the same node";

  serve({.deliver = Delivery::kCdiAnnotations});
  const auto annotated = allocate({"GPU-2", "GPU-3"});
  ASSERT_TRUE(annotated);
  ASSERT_THAT(annotated->annotations, SizeIs(1));
  EXPECT_THAT(annotated->annotations.begin()->first, ::testing::StartsWith("cdi.k8s.io/cardcage_"));
  EXPECT_EQ(annotated->annotations.begin()->second,
            "cardcage.example.com_gpu/device=gpu-2,cardcage.example.com_gpu/device=gpu-3");
}

TEST_F(ResourceAllocatorTest, ListsOfAllDevicesAreJoined) {
  gpus->edits = [](const ModuleClaim& claim) {
    PreparedEdits edits;
    edits.allocations.resize(1);
    edits.allocations[0].env_lists.push_back({"PCIDEVICES", claim.allocations[0].device_id});
    return edits;
  };
  for (const Delivery delivery : {Delivery::kCdi, Delivery::kDirect}) {
    serve({.deliver = delivery});
    const auto granted = allocate({"GPU-2", "GPU-0", "GPU-1"});
    ASSERT_TRUE(granted);
    EXPECT_THAT(granted->edits.env, ::testing::Contains(EnvVar{"PCIDEVICES", "GPU-0,GPU-1,GPU-2"}));
  }
  const auto alone = allocate({"GPU-3"});
  ASSERT_TRUE(alone);
  EXPECT_THAT(alone->edits.env, ::testing::Contains(EnvVar{"PCIDEVICES", "GPU-3"}));
  const auto record = ledger->find({kResource, "gpu-3"});
  ASSERT_TRUE(record);
  const CdiSpec spec = cdi_spec(*record);
  for (const EnvVar& variable : spec.devices.front().edits.env)
    EXPECT_NE(variable.name, "PCIDEVICES") << "each file would replace the others' value";
}

TEST_F(ResourceAllocatorTest, DevicesWithTwoValuesOfOneVariableNeedContainersOfTheirOwn) {
  gpus->edits = [](const ModuleClaim& claim) {
    PreparedEdits edits;
    edits.claim.env.push_back({"MODE", "mode of " + claim.allocations[0].device_id});
    return edits;
  };
  for (const Delivery delivery : {Delivery::kCdi, Delivery::kCdiAnnotations, Delivery::kDirect}) {
    serve({.deliver = delivery});
    EXPECT_THAT(text_of(allocate({"GPU-0", "GPU-1"})),
                HasSubstr("devices 'gpu-0' and 'gpu-1' give the environment variable 'MODE' the values 'mode of GPU-0' "
                          "and 'mode of GPU-1'; "));
    EXPECT_TRUE(allocate({"GPU-0"}));
    EXPECT_TRUE(allocate({"GPU-1"}));
  }
}

TEST_F(ResourceAllocatorTest, LockedMemoryIsAHookInTheCdiFile) {
  gpus->edits = [](const ModuleClaim&) {
    PreparedEdits edits;
    edits.claim.locked_memory = {4096};
    return edits;
  };
  ASSERT_TRUE(allocate({"GPU-0"}));
  EXPECT_THAT(cdi_spec(*held("gpu-0")).edits.hooks, ElementsAre(host.memory_hook(4096)));
}

TEST_F(ResourceAllocatorTest, EditsThatDirectDeliveryCannotCarryAreRefused) {
  gpus->edits = [](const ModuleClaim&) {
    PreparedEdits edits;
    edits.claim.hooks.push_back({.name = "createContainer", .path = "/bin/hook"});
    return edits;
  };
  serve({.deliver = Delivery::kDirect});
  const auto refused = allocate({"GPU-0"});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("hooks, which deliver = \"direct\" cannot carry"));
}

}  // namespace
}  // namespace cardcage
