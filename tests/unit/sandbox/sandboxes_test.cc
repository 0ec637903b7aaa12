// Devices of claims are moved to their pods and back.
#include "host/sandbox/sandboxes.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include "host/core/file.h"
#include "tests/fakes/pod_namespace.h"
#include "tests/unit/claim/claim_world.h"

namespace cardcage {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

class SandboxesTest : public ClaimWorld {
 protected:
  void SetUp() override {
    if (!pod.works()) GTEST_SKIP() << "no network namespace can be made here";
    nics->about.families.add(Family::kSandbox);
    nics->edits = [](const ModuleClaim& claim) {
      PreparedEdits edits;
      edits.allocations.resize(claim.allocations.size());
      edits.statements.resize(claim.allocations.size());
      for (DeviceStatement& statement : edits.statements) statement.network = NetworkData{"net1", {}, ""};
      return edits;
    };
  }
  // Prepares a claim that is reserved for the pod with the UID "uid-of-pod".
  void prepare_for_pod(const std::string& uid, const std::string& device) {
    Claim claim = a_claim(uid, {an_allocation(device)});
    claim.reserved_for = {"uid-of-pod"};
    cluster.put_claim(claim);
    const auto prepared = prepare(uid);
    ASSERT_TRUE(prepared) << prepared.error().message;
  }
  Sandboxes& sandboxes() {
    made = std::make_unique<Sandboxes>(
        SandboxEnvironment{.core = core,
                           .clock = clock,
                           .ledger = *ledger,
                           .devices = directory,
                           .attachments = attachments,
                           .alone = [this](const std::string&, ClaimRef claim, std::function<Task<Status>()> work) {
                             return preparer->run_alone(std::move(claim), std::move(work));
                           }});
    return *made;
  }
  RuntimeSandbox sandbox() const {
    return {"sandbox-1", {"uid-of-pod", "ns", "pod", fmt::format("/proc/self/fd/{}", pod.descriptor())}};
  }
  UniqueFd its_namespace() const { return UniqueFd(::fcntl(pod.descriptor(), F_DUPFD_CLOEXEC, 0)); }
  static HookRequest request(const std::string& uid) { return {kDriver, uid, "ns", "pod", "uid-of-pod", "sandbox-1"}; }
  std::vector<Attachment> attached() const {
    return attachments.find([](const Attachment&) { return true; });
  }
  ino_t number() const {
    struct stat its{};
    EXPECT_EQ(::fstat(pod.descriptor(), &its), 0);
    return its.st_ino;
  }

  PodNamespace pod;
  Attachments attachments{folder / "attached"};
  std::unique_ptr<Sandboxes> made;
};

TEST_F(SandboxesTest, TheClaimsOfAPodAreAttachedWhenItHasItsSandbox) {
  prepare_for_pod("1", "nic-0");
  prepare_new("2", {an_allocation("nic-1")});
  const Status started = run(sandboxes().start(sandbox()));
  ASSERT_TRUE(started) << started.error().message;
  EXPECT_THAT(nics->attached, ElementsAre(testing::Pair("1", "uid-of-pod"))) << "the other claim is for another pod";
  EXPECT_THAT(attached(), ElementsAre(Attachment{kDriver, "1", number()}));
  EXPECT_EQ(read_attachment(attachments.folder(), attached().at(0)).value_or(AttachedPod()),
            (AttachedPod{"uid-of-pod", "sandbox-1", {"net1"}}));
}

TEST_F(SandboxesTest, DevicesComeBackWhenTheSandboxStops) {
  prepare_for_pod("1", "nic-0");
  ASSERT_TRUE(run(sandboxes().start(sandbox())));
  run(sandboxes().stop(sandbox()));
  EXPECT_THAT(nics->attached, IsEmpty());
  EXPECT_THAT(attached(), IsEmpty());
}

TEST_F(SandboxesTest, AfterARestartDevicesStillComeBack) {
  prepare_for_pod("1", "nic-0");
  ASSERT_TRUE(run(sandboxes().start(sandbox())));
  let_the_ledger_write();
  start();
  run(sandboxes().stop(sandbox()));
  EXPECT_EQ(nics->count<DetachCall>(), 1);
  EXPECT_THAT(attached(), IsEmpty());
}

TEST_F(SandboxesTest, WhatWasAttachedToPodsThatAreGoneIsForgotten) {
  prepare_for_pod("1", "nic-0");
  ASSERT_TRUE(run(sandboxes().start(sandbox())));
  made->keep({sandbox()});
  EXPECT_THAT(attached(), SizeIs(1));
  made->keep({});
  EXPECT_THAT(attached(), IsEmpty());
}

TEST_F(SandboxesTest, AnEarlierSandboxOfThePodIsForgotten) {
  prepare_for_pod("1", "nic-0");
  ASSERT_TRUE(run(sandboxes().start(sandbox())));
  RuntimeSandbox next = sandbox();
  next.id = "sandbox-2";
  made->keep({next});
  EXPECT_THAT(attached(), IsEmpty());
}

TEST_F(SandboxesTest, AnotherSandboxWithTheNumberOfTheNamespaceKeepsTheDevices) {
  prepare_for_pod("1", "nic-0");
  ASSERT_TRUE(run(sandboxes().start(sandbox())));
  RuntimeSandbox other = sandbox();
  other.id = "sandbox-2";
  run(sandboxes().stop(other));
  EXPECT_EQ(nics->count<DetachCall>(), 0);
  EXPECT_THAT(attached(), SizeIs(1));
}

TEST_F(SandboxesTest, DevicesThatAnEarlierVersionAttachedComeBack) {
  prepare_for_pod("1", "nic-0");
  ASSERT_TRUE(run(sandboxes().start(sandbox())));
  ASSERT_TRUE(write_file_atomically(attachments.folder() / attachment_file_name(attached().at(0)), "uid-of-pod\nnet1\n",
                                    0600, false));
  made->keep({sandbox()});
  EXPECT_THAT(attached(), SizeIs(1));
  run(sandboxes().stop(sandbox()));
  EXPECT_EQ(nics->count<DetachCall>(), 1);
  EXPECT_THAT(attached(), IsEmpty());
}

TEST_F(SandboxesTest, AModuleThatMovesNothingAnyMoreLetsNoContainerIn) {
  prepare_for_pod("1", "nic-0");
  nics->about.families.remove(Family::kSandbox);
  EXPECT_THAT(text_of(run(sandboxes().admit(request("1"), its_namespace()))),
              HasSubstr("no module moves its devices to the pod any more"));
  EXPECT_THAT(attached(), IsEmpty());
}

TEST_F(SandboxesTest, AContainerIsLetInOnceItsDevicesAreThere) {
  prepare_for_pod("1", "nic-0");
  nics->fail<AttachCall>({Code::kUnavailable, "no card"});
  const Status refused = run(sandboxes().admit(request("1"), its_namespace()));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "claim team/claim-1: no card");
  EXPECT_THAT(attached(), IsEmpty());
  EXPECT_TRUE(run(sandboxes().admit(request("1"), its_namespace())));
  EXPECT_THAT(attached(), SizeIs(1));
  EXPECT_TRUE(run(sandboxes().admit(request("1"), its_namespace()))) << "the next container of the pod";
}

TEST_F(SandboxesTest, AModuleIsToldThePathThatTheRuntimeHasReported) {
  prepare_for_pod("1", "nic-0");
  ASSERT_TRUE(run(sandboxes().admit(request("1"), its_namespace())));
  EXPECT_EQ(nics->pod_path, "") << "no sandbox is known";
  ASSERT_TRUE(run(made->start(sandbox())));
  EXPECT_EQ(nics->pod_path, sandbox().pod.network_namespace);
  ASSERT_TRUE(run(made->admit(request("1"), its_namespace())));
  EXPECT_EQ(nics->pod_path, sandbox().pod.network_namespace) << "for the next container";
  made->keep({});
  ASSERT_TRUE(run(made->admit(request("1"), its_namespace())));
  EXPECT_EQ(nics->pod_path, "");
  made->keep({sandbox()});
  ASSERT_TRUE(run(made->admit(request("1"), its_namespace())));
  EXPECT_EQ(nics->pod_path, sandbox().pod.network_namespace) << "after a restart of the daemon";
}

TEST_F(SandboxesTest, AContainerOfAClaimThatIsNotPreparedIsNotLetIn) {
  const Status refused = run(sandboxes().admit(request("1"), its_namespace()));
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("has not prepared it here"));
}

TEST_F(SandboxesTest, APodWithTheNetworkOfTheNodeGetsNoDevice) {
  prepare_for_pod("1", "nic-0");
  const Status refused = run(sandboxes().admit(request("1"), UniqueFd(::open("/proc/self/ns/net", O_RDONLY))));
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("leave hostNetwork out of the pod's spec"));
  RuntimeSandbox on_node = sandbox();
  on_node.pod.network_namespace.clear();
  EXPECT_THAT(text_of(run(sandboxes().start(on_node))), HasSubstr("leave hostNetwork out"));
  EXPECT_EQ(nics->count<AttachCall>(), 0);
}

TEST_F(SandboxesTest, PodsWithoutSuchClaimsAreNotLookedAt) {
  Claim claim = a_claim("1", {an_allocation("gpu-0")});
  claim.reserved_for = {"uid-of-pod"};
  cluster.put_claim(claim);
  ASSERT_TRUE(prepare("1"));
  RuntimeSandbox on_node = sandbox();
  on_node.pod.network_namespace.clear();
  EXPECT_TRUE(run(sandboxes().start(on_node))) << "a pod with a GPU and the network of the node";
}

TEST_F(SandboxesTest, WhatIsNoNetworkNamespaceIsRefused) {
  prepare_for_pod("1", "nic-0");
  EXPECT_FALSE(run(sandboxes().admit(request("1"), UniqueFd(::open("/proc/self/ns/mnt", O_RDONLY)))));
  EXPECT_FALSE(run(sandboxes().admit(request("1"), UniqueFd(::open("/dev/null", O_RDONLY)))));
  RuntimeSandbox gone = sandbox();
  gone.pod.network_namespace = folder / "gone";
  EXPECT_FALSE(run(sandboxes().start(gone)));
}

TEST_F(SandboxesTest, AnAttachWaitsForAnUnprepareAndThenFindsNoClaim) {
  prepare_for_pod("1", "nic-0");
  nics->block<UnprepareCall>();
  const auto unprepared = begin(preparer->unprepare(ref_of("1"), soon()));
  settle();
  const auto let_in = begin(sandboxes().admit(request("1"), its_namespace()));
  settle();
  EXPECT_EQ(nics->count<AttachCall>(), 0);
  nics->unblock<UnprepareCall>();
  ASSERT_TRUE(until([&] { return unprepared->has_value() && let_in->has_value(); }));
  EXPECT_TRUE(**unprepared);
  EXPECT_FALSE(**let_in);
  EXPECT_EQ(nics->count<AttachCall>(), 0);
}

TEST_F(SandboxesTest, AStopBehindAnUnprepareTakesNothingFromTheNextClaim) {
  prepare_for_pod("1", "nic-0");
  ASSERT_TRUE(run(sandboxes().start(sandbox())));
  nics->block<UnprepareCall>();
  const auto unprepared = begin(preparer->unprepare(ref_of("1"), soon()));
  settle();
  const auto stopped = begin([](Sandboxes& inner, RuntimeSandbox stopping) -> Task<bool> {
    co_await inner.stop(std::move(stopping));
    co_return true;
  }(sandboxes(), sandbox()));
  settle();
  nics->unblock<UnprepareCall>();
  ASSERT_TRUE(until([&] { return unprepared->has_value() && stopped->has_value(); }));
  EXPECT_TRUE(**unprepared);
  EXPECT_EQ(nics->count<DetachCall>(), 0);
}

TEST_F(SandboxesTest, AStopThatWaitedForItsTurnDetachesWhatIsAttachedThen) {
  prepare_for_pod("1", "nic-0");
  ASSERT_TRUE(run(sandboxes().start(sandbox())));
  nics->block<AttachCall>();
  Sandboxes& ours = sandboxes();
  const auto let_in = begin(ours.admit(request("1"), its_namespace()));
  settle();
  const auto stopped = begin([](Sandboxes& inner, RuntimeSandbox stopping) -> Task<bool> {
    co_await inner.stop(std::move(stopping));
    co_return true;
  }(ours, sandbox()));
  settle();
  EXPECT_EQ(nics->count<DetachCall>(), 0);
  nics->unblock<AttachCall>();
  ASSERT_TRUE(until([&] { return let_in->has_value() && stopped->has_value(); }));
  EXPECT_EQ(nics->count<DetachCall>(), 1);
  EXPECT_THAT(attached(), IsEmpty());
}

TEST_F(SandboxesTest, AStartThatWaitedForItsTurnAttachesNothingOfAnotherPod) {
  prepare_for_pod("1", "nic-0");
  nics->block<AttachCall>();
  Sandboxes& ours = sandboxes();
  const auto let_in = begin(ours.admit(request("1"), its_namespace()));
  settle();
  Claim claim = a_claim("1", {an_allocation("nic-0")});
  claim.reserved_for = {"uid-of-another-pod"};
  cluster.put_claim(claim);
  const auto unprepared = begin(preparer->unprepare(ref_of("1"), soon()));
  const auto prepared = begin(preparer->prepare(ref_of("1"), soon()));
  const auto started = begin(ours.start(sandbox()));
  settle();
  nics->unblock<AttachCall>();
  ASSERT_TRUE(until([&] { return let_in->has_value() && prepared->has_value() && started->has_value(); }));
  EXPECT_TRUE(**unprepared && **prepared);
  EXPECT_THAT(text_of(**started), HasSubstr("for another pod meanwhile"));
  EXPECT_EQ(nics->count<AttachCall>(), 1);
}

TEST_F(SandboxesTest, TwoContainersThatStartTogetherAttachOneAfterTheOther) {
  prepare_for_pod("1", "nic-0");
  nics->block<AttachCall>();
  Sandboxes& ours = sandboxes();
  const auto first = begin(ours.admit(request("1"), its_namespace()));
  const auto second = begin(ours.admit(request("1"), its_namespace()));
  settle();
  EXPECT_EQ(nics->count<AttachCall>(), 1);
  nics->unblock<AttachCall>();
  ASSERT_TRUE(until([&] { return first->has_value() && second->has_value(); }));
  EXPECT_TRUE(**first && **second);
  EXPECT_EQ(nics->count<AttachCall>(), 2);
}

}  // namespace
}  // namespace cardcage
