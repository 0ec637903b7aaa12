// Tests RDMA devices and InfiniBand with the kernel's cores of both, and rdma_card.c in place of a card.
#include "tests/qemu/nic_machine.h"

namespace cardcage {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;

// Uses the kernel's rtnetlink with the InfiniBand interface of rdma_card.c.
class InfiniBandCard : public NicMachine {
 protected:
  ~InfiniBandCard() override { write_to(kParameter, "\n"); }
  void SetUp() override {
    NicMachine::SetUp();
    write_to(kParameter, kCard + "\n");
    // udev renames the interface, and the module uses the first interface of a card, in the order of names.
    ASSERT_TRUE(udev_is_done());
    const std::string types = "/sys/bus/pci/devices/" + kCard + "/net/*/type";
    ASSERT_TRUE(succeeds("ip link set $(basename $(dirname $(grep -lx 32 " + types + "))) name aib0"));
    ASSERT_TRUE(succeeds("ip link set aib0 vf 0 node_guid " + kBefore));
    ASSERT_TRUE(succeeds("ip link set aib0 vf 0 port_guid " + kBefore));
  }
  ModuleClaim claim_of_class(const std::string& params) {
    return HardwareFixture::claim_of("u1", {kFirstName}, params, "NicConfig", ConfigSource::kClass);
  }
  static bool has_guids(const std::string& node, const std::string& port) {
    return succeeds("ip -d link show aib0 | grep 'vf 0 ' | grep 'NODE_GUID " + node + ", PORT_GUID " + port + "'");
  }
  static constexpr const char* kParameter = "/sys/module/rdma_card/parameters/interface";
  static inline const std::string kBefore = "00:11:22:33:44:55:66:01", kWanted = "00:11:22:33:44:55:66:77";
};

INSTANTIATE_TEST_SUITE_P(Isolation, InfiniBandCard, ::testing::Values(Isolation::kProcess), name_of_isolation);

TEST_P(InfiniBandCard, AVirtualFunctionHasTheGuidsOfTheClaim) {
  const std::string before = interface_of(kFirst), index = index_of(before);
  ModuleClaim claim =
      claim_of_class(R"("vf":{"nodeGuid":"00:11:22:33:44:55:66:77","portGuid":"00:11:22:33:44:55:66:77"})");
  const auto prepared = kept(run(preparing(claim, patiently())), claim);
  ASSERT_TRUE(prepared) << prepared.error().message;
  EXPECT_TRUE(has_guids(kWanted, kWanted));
  EXPECT_EQ(interface_of(kFirst), before);
  const std::string meanwhile = index_of(before);
  EXPECT_NE(meanwhile, index) << "its driver was bound again, to read them";
  EXPECT_TRUE(kept(run(preparing(claim, patiently())), claim));
  EXPECT_EQ(index_of(before), meanwhile) << "once, since a pod may use it by now";
  const Status released = run(module->call(UnprepareCall{claim}, patiently()));
  ASSERT_TRUE(released) << released.error().message;
  EXPECT_TRUE(has_guids(kBefore, kBefore));
}

TEST_P(InfiniBandCard, ModeRdmaReadsItsGuidsAtBothEnds) {
  const std::string before = interface_of(kFirst), index = index_of(before);
  ModuleClaim claim = claim_of_class(R"("mode":"Rdma","vf":{"portGuid":"00:11:22:33:44:55:66:77"})");
  const auto prepared = kept(run(preparing(claim, patiently())), claim);
  ASSERT_TRUE(prepared) << prepared.error().message;
  EXPECT_TRUE(has_guids(kBefore, kWanted));
  ASSERT_TRUE(begins([&] { return !interface_of(kFirst).empty(); }));
  const std::string meanwhile = index_of(interface_of(kFirst));
  EXPECT_NE(meanwhile, index);
  const Status released = run(module->call(UnprepareCall{claim}, patiently()));
  ASSERT_TRUE(released) << released.error().message;
  EXPECT_TRUE(has_guids(kBefore, kBefore));
  ASSERT_TRUE(begins([&] { return !interface_of(kFirst).empty(); }));
  EXPECT_NE(index_of(interface_of(kFirst)), meanwhile);
}

// Uses the kernel's RDMA core with a device of rdma_card.c, in the mode in which each device is in one namespace.
class ExclusiveRdma : public NicMachine {
 protected:
  ~ExclusiveRdma() override {
    write_to(kParameter, "\n");
    EXPECT_TRUE(is_mode("shared"));
  }
  void SetUp() override {
    ASSERT_TRUE(is_mode("exclusive"));
    NicMachine::SetUp();
    write_to(kParameter, kFirst + "\n");
    ASSERT_THAT(attributes_of(device(kFirstName)), AllOf(Contains("rdma=true"), Contains("rdmaDevice=card0")));
  }
  // Waits, because the kernel accepts a mode only after the namespaces of pods have ended.
  static bool is_mode(const std::string& mode) {
    return begins([&mode] { return succeeds("rdma system set netns " + mode); });
  }
  static bool is_on_node() { return std::filesystem::exists(folder_of(kFirst) / "infiniband/card0"); }
  static bool is_in(const PodNamespace& pod, const std::string& name = "card0") {
    return pod.run("rdma dev show " + name);
  }
  ModuleClaim prepared_claim(const std::string& uid) {
    ModuleClaim claim = claim_of(uid, kFirstName, R"("interface":{"name":"net1"})");
    const auto prepared = prepare(claim);
    EXPECT_TRUE(prepared) << prepared.error().message;
    return claim;
  }
  void expect_released(ModuleClaim& claim) {
    const Status released = run(module->call(UnprepareCall{claim}, patiently()));
    EXPECT_TRUE(released) << released.error().message;
    EXPECT_TRUE(is_on_node());
    EXPECT_FALSE(interface_of(kFirst).empty());
  }

  static constexpr const char* kParameter = "/sys/module/rdma_card/parameters/function";
};

INSTANTIATE_TEST_SUITE_P(Isolation, ExclusiveRdma, ::testing::Values(Isolation::kProcess), name_of_isolation);

TEST_P(ExclusiveRdma, TheDeviceGoesToThePodWithItsInterfaceAndBack) {
  const PodNamespace pod;
  ModuleClaim claim = prepared_claim("u1");
  const Status attached = run(module->call(AttachCall{claim, pod.pod()}, soon()));
  ASSERT_TRUE(attached) << attached.error().message;
  EXPECT_TRUE(is_in(pod));
  EXPECT_FALSE(is_on_node());
  EXPECT_TRUE(pod.ip("link show net1"));
  EXPECT_THAT(attributes_of(device(kFirstName)), AllOf(Contains("rdma=true"), Contains("rdmaDevice=card0")));
  EXPECT_TRUE(run(module->call(AttachCall{claim, pod.pod()}, soon()))) << "for the next container of the pod";
  const auto again = prepare(claim);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->allocations.at(0).device_nodes.at(0).path, "/dev/infiniband/uverbs0") << "while the pod has it";
  ASSERT_TRUE(pod.run("rdma dev set card0 name mine")) << "a pod with CAP_NET_ADMIN";
  const Status detached = run(module->call(DetachCall{claim, pod.pod()}, soon()));
  ASSERT_TRUE(detached) << detached.error().message;
  EXPECT_TRUE(is_on_node());
  EXPECT_FALSE(is_in(pod, "mine"));
  expect_released(claim);
}

TEST_P(ExclusiveRdma, TheDeviceComesBackWhenItsPodEnds) {
  ModuleClaim claim = prepared_claim("u1");
  {
    PodNamespace pod;
    ASSERT_TRUE(run(module->call(AttachCall{claim, pod.pod()}, soon())));
    ASSERT_TRUE(pod.run("rdma dev set card0 name mine"));
    pod.end();
  }
  expect_released(claim);
}

// The route's gateway is in a network that the interface cannot reach.
TEST_P(ExclusiveRdma, AMoveThatFailsLeavesTheDeviceOnTheNode) {
  const PodNamespace pod, other;
  ModuleClaim claim = claim_of("u1", kFirstName, R"("routes":["10.9.0.0/16 via 10.1.2.1"])");
  ASSERT_TRUE(prepare(claim));
  EXPECT_FALSE(run(module->call(AttachCall{claim, pod.pod()}, soon())));
  EXPECT_TRUE(is_on_node());
  ModuleClaim second = prepared_claim("u1");
  ASSERT_TRUE(run(module->call(AttachCall{second, pod.pod()}, soon())));
  EXPECT_FALSE(run(module->call(AttachCall{second, other.pod()}, soon()))) << "another pod has it";
  EXPECT_TRUE(is_in(pod));
  EXPECT_TRUE(run(module->call(DetachCall{second, pod.pod()}, soon())));
  expect_released(second);
}

// A device with a lower number went away. This device gets its number, but the container has the node of the old one.
TEST_P(ExclusiveRdma, ADeviceWhoseNodesChangeIsNotGiven) {
  write_to(kParameter, "\n");
  const std::string other = interface_of(kOther);
  ASSERT_TRUE(succeeds("ip link set " + other + " up"));
  ASSERT_TRUE(succeeds("rdma link add rxe0 type rxe netdev " + other));
  write_to(kParameter, kFirst + "\n");
  const PodNamespace pod;
  ModuleClaim claim = prepared_claim("u1");
  ASSERT_TRUE(succeeds("rdma link delete rxe0"));
  const Status refused = run(module->call(AttachCall{claim, pod.pod()}, soon()));
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, AllOf(HasSubstr("'/dev/infiniband/uverbs0' now"), HasSubstr("delete the pod")));
  EXPECT_TRUE(is_on_node());
  EXPECT_FALSE(interface_of(kFirst).empty());
  expect_released(claim);
}

TEST_P(ExclusiveRdma, ModeRdmaIsRefused) {
  ModuleClaim claim = claim_of("u1", kFirstName, R"("mode":"Rdma")");
  const auto refused = prepare(claim);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, AllOf(HasSubstr("rdma system: exclusive"), HasSubstr("leave the mode out")));
}

}  // namespace
}  // namespace cardcage
