// Tests the NIC module on the machine's SR-IOV cards.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "tests/qemu/nic_machine.h"
#include "tests/qemu/open_vswitch.h"

namespace cardcage {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsSubsetOf;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

INSTANTIATE_TEST_SUITE_P(Isolation, NicMachine, ::testing::Values(Isolation::kProcess), name_of_isolation);

TEST_P(NicMachine, FindsVirtualFunctionsAndTheirCard) {
  EXPECT_THAT(names(), UnorderedElementsAre(kFirstName, kSecondName, "nic-0000-41-00-0", kBareName));
  const Device first = device(kFirstName);
  EXPECT_EQ(first.kind, "vf");
  EXPECT_EQ(first.pci_bus_id, kFirst);
  const std::vector<std::string> attributes = attributes_of(first);
  EXPECT_THAT(std::vector<std::string>({"driver=igbvf", "vendor=0x8086", "device=0x10ca", "pfPciAddress=" + kCard,
                                        "pfName=" + interface_of(kCard), "vfIndex=0", "type=vf", "mtu=1500"}),
              IsSubsetOf(attributes));
  EXPECT_EQ(device("nic-0000-41-00-0").kind, "pf");
}

TEST_P(NicMachine, FunctionsComeAndGoWithTheirNumber) {
  make_virtual_functions(0);
  EXPECT_THAT(names(), UnorderedElementsAre("nic-0000-01-00-0", "nic-0000-41-00-0", kBareName));
  make_virtual_functions(1);
  EXPECT_THAT(names(), UnorderedElementsAre(kFirstName, "nic-0000-41-00-0", kBareName));
}

TEST_P(NicMachine, AVirtualFunctionGoesToAPodAndBack) {
  const std::string before = interface_of(kFirst);
  ASSERT_TRUE(succeeds("ip link set " + before + " mtu 1400 alias rack-3"));
  const PodNamespace pod;
  ModuleClaim claim = claim_of("u1", kFirstName, R"("interface":{"name":"net1","addresses":["10.1.2.3/24"]})");
  const auto prepared = prepare(claim);
  ASSERT_TRUE(prepared) << prepared.error().message;
  const Status attached = run(module->call(AttachCall{claim, pod.pod()}, soon()));
  ASSERT_TRUE(attached) << attached.error().message;
  EXPECT_TRUE(pod.ip_says("address show net1", "inet 10.1.2.3/24"));
  EXPECT_EQ(interface_of(kFirst), "");
  EXPECT_THAT(attributes_of(device(kFirstName)), Contains("ifName=" + before)) << "while it is away";
  const Status detached = run(module->call(DetachCall{claim, pod.pod()}, soon()));
  ASSERT_TRUE(detached) << detached.error().message;
  const auto is_as_before = [&before] {
    return interface_of(kFirst) == before && succeeds("ip link show " + before + " | grep 'mtu 1400'") &&
           succeeds("ip link show " + before + " | grep 'alias rack-3'");
  };
  EXPECT_TRUE(is_as_before());
  const std::string index = index_of(before);
  const Status released = run(module->call(UnprepareCall{claim}, patiently()));
  ASSERT_TRUE(released) << released.error().message;
  EXPECT_TRUE(is_as_before());
  EXPECT_EQ(driver_of(kFirst), "igbvf");
  EXPECT_NE(index_of(before), index) << "the function was reset, and its driver made another interface";
}

TEST_P(NicMachine, AVirtualFunctionIsNotResetIfTheOperatorAllowsNone) {
  let_go();
  start({});
  const std::string before = interface_of(kFirst), index = index_of(before);
  ModuleClaim claim = claim_of("u1", kFirstName);
  ASSERT_TRUE(prepare(claim));
  const Status released = run(module->call(UnprepareCall{claim}, patiently()));
  EXPECT_TRUE(released) << released.error().message;
  EXPECT_EQ(interface_of(kFirst), before);
  EXPECT_EQ(index_of(before), index);
}

TEST_P(NicMachine, AVirtualFunctionComesBackByItselfWhenItsPodEnds) {
  const std::string before = interface_of(kFirst);
  PodNamespace pod;
  ModuleClaim claim = claim_of("u1", kFirstName, R"("interface":{"name":"net1","mtu":1300})");
  ASSERT_TRUE(prepare(claim));
  ASSERT_TRUE(run(module->call(AttachCall{claim, pod.pod()}, soon())));
  ASSERT_TRUE(pod.ip("link set net1 down"));
  ASSERT_TRUE(pod.ip("link set net1 address 02:00:00:00:00:99"));
  pod.end();
  const Status released = run(module->call(UnprepareCall{claim}, patiently()));
  ASSERT_TRUE(released) << released.error().message;
  EXPECT_EQ(interface_of(kFirst), before);
  EXPECT_TRUE(succeeds("ip link show " + before + " | grep 'mtu 1500'"));
  EXPECT_FALSE(succeeds("ip link show " + before + " | grep 02:00:00:00:00:99"));
  EXPECT_FALSE(succeeds("ip link show " + before + " | grep alias"));
}

// Resets are off, since a reset would recreate the interface.
TEST_P(NicMachine, AVirtualFunctionThatAPodHasHiddenComesBackWithoutAReset) {
  let_go();
  start({});
  const std::string before = interface_of(kFirst), index = index_of(before), all_names = names_of(kFirst);
  for (const bool by_itself : {false, true}) {
    PodNamespace pod;
    ModuleClaim claim = claim_of(by_itself ? "u2" : "u1", kFirstName, R"("interface":{"name":"net1"})");
    ASSERT_TRUE(prepare(claim));
    ASSERT_TRUE(run(module->call(AttachCall{claim, pod.pod()}, soon())));
    ASSERT_TRUE(pod.ip("link set net1 down"));
    ASSERT_TRUE(pod.ip("link set net1 alias mine name mine mtu 1300 address 02:00:00:00:00:99"));
    ASSERT_TRUE(pod.ip("link property add dev mine altname " + before));
    if (by_itself)
      pod.end();
    else
      ASSERT_TRUE(run(module->call(DetachCall{claim, pod.pod()}, soon())));
    const Status released = run(module->call(UnprepareCall{claim}, patiently()));
    ASSERT_TRUE(released) << released.error().message;
    EXPECT_EQ(names_of(kFirst), all_names);
    EXPECT_TRUE(succeeds("ip link show " + before + " | grep 'mtu 1500'"));
    EXPECT_FALSE(succeeds("ip link show " + before + " | grep -E '02:00:00:00:00:99|alias'"));
    if (!by_itself) {
      EXPECT_EQ(index_of(before), index);
    }
  }
}

TEST_P(NicMachine, WhatTheNodeUsesIsNotOffered) {
  const std::string interface = interface_of(kOther), port = "ip link set " + interface + " down master use0";
  for (const std::string& use :
       {"link add link " + interface + " name use0 type vlan id 7",
        "link add link " + interface + " name use0 type vlan protocol 802.1ad id 7",
        "link add link " + interface + " name use0 type macvlan", "link add use0 type bridge && " + port,
        "link add use0 type bond && " + port, "link add use0 type vrf table 7 && " + port}) {
    ASSERT_TRUE(succeeds("ip " + use)) << use;
    EXPECT_THAT(names(), Not(Contains("nic-0000-41-00-0"))) << use;
    ASSERT_TRUE(succeeds("ip link delete use0"));
    EXPECT_THAT(names(), Contains("nic-0000-41-00-0")) << use;
  }
}

// OVN's bridge br-ex has no lower link, and the master of its uplink is the datapath.
TEST_P(NicMachine, AnUplinkOfOpenVswitchIsNotOffered) {
  {
    OpenVswitch ovs;
    ovs.add_port(interface_of(kOther));
    EXPECT_TRUE(succeeds("ip link show " + interface_of(kOther) + " | grep 'master ovs-system'"));
    EXPECT_THAT(names(), Not(Contains("nic-0000-41-00-0")));
  }
  EXPECT_THAT(names(), Contains("nic-0000-41-00-0"));
}

TEST_P(NicMachine, AFunctionIsBoundToVfioAndBack) {
  ModuleClaim claim = claim_of("u1", kFirstName, R"("mode":"Vfio")");
  const auto prepared = kept(run(preparing(claim, patiently())), claim);
  ASSERT_TRUE(prepared) << prepared.error().message;
  EXPECT_EQ(driver_of(kFirst), "vfio-pci");
  const std::string group = std::filesystem::read_symlink(folder_of(kFirst) / "iommu_group").filename();
  std::vector<std::string> nodes;
  for (const DeviceNode& node : prepared->allocations.at(0).device_nodes) nodes.push_back(node.path);
  EXPECT_THAT(nodes, Contains("/dev/vfio/" + group));
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/vfio/" + group));
  const Status released = run(module->call(UnprepareCall{claim}, patiently()));
  ASSERT_TRUE(released) << released.error().message;
  EXPECT_EQ(driver_of(kFirst), "igbvf");
  EXPECT_TRUE(begins([] { return !interface_of(kFirst).empty(); }));
}

// vfio makes a group for the function, whose node is named differently from those of other groups.
TEST_P(NicMachine, AFunctionWithoutAnIommuIsBoundToVfioIfTheOperatorAllowsIt) {
  const std::filesystem::path mode = "/sys/module/vfio/parameters/enable_unsafe_noiommu_mode";
  ASSERT_FALSE(std::filesystem::exists(folder_of(kBare) / "iommu_group"));
  ModuleClaim claim = claim_of("u1", kBareName, R"("mode":"Vfio")");
  const auto refusal = [&] {
    const auto refused = kept(run(preparing(claim, patiently())), claim);
    return refused ? "nothing" : refused.error().message;
  };
  EXPECT_THAT(refusal(), HasSubstr("it is in no IOMMU group; turn on the IOMMU"));
  let_go();
  start({"/sys/bus/pci/devices/*/driver_override"}, {{"vfio_without_iommu", true}});
  EXPECT_THAT(refusal(), HasSubstr("enable_unsafe_noiommu_mode=1"));
  write_to(mode, "Y\n");
  const auto prepared = kept(run(preparing(claim, patiently())), claim);
  write_to(mode, "N\n");
  ASSERT_TRUE(prepared) << prepared.error().message;
  EXPECT_EQ(driver_of(kBare), "vfio-pci");
  const std::string group = std::filesystem::read_symlink(folder_of(kBare) / "iommu_group").filename();
  const DeviceNode& node = prepared->allocations.at(0).device_nodes.at(0);
  EXPECT_EQ(node.path, "/dev/vfio/" + group);
  EXPECT_EQ(node.host_path, "/dev/vfio/noiommu-" + group);
  EXPECT_TRUE(std::filesystem::is_character_file(node.host_path));
  EXPECT_FALSE(std::filesystem::exists(node.path)) << "that name is not on the node";
  const Status released = run(module->call(UnprepareCall{claim}, patiently()));
  ASSERT_TRUE(released) << released.error().message;
  EXPECT_EQ(driver_of(kBare), "");
}

TEST_P(NicMachine, ItsCardSetsAVirtualFunctionUpAndBack) {
  // igb bounds rates by the speed of its link.
  const std::string interface = interface_of(kCard);
  ASSERT_TRUE(succeeds("ip link set " + interface + " up"));
  ASSERT_TRUE(begins([&] { return succeeds("grep -q 1 /sys/class/net/" + interface + "/carrier"); }));
  const std::string card = "ip link show " + interface_of(kCard);
  ModuleClaim claim = HardwareFixture::claim_of(
      "u1", {kFirstName},
      R"("interface":{"mac":"02:00:00:00:00:42"},"vf":{"vlan":77,"vlanQos":3,"spoofCheck":false,"trust":true,"maxTxRate":100})",
      "NicConfig", ConfigSource::kClass);
  const auto prepared = kept(run(preparing(claim, patiently())), claim);
  ASSERT_TRUE(prepared) << prepared.error().message;
  for (const char* set :
       {"02:00:00:00:00:42", "vlan 77, qos 3", "max_tx_rate 100Mbps", "spoof checking off", "trust on"})
    EXPECT_TRUE(succeeds(card + " | grep 'vf 0' | grep -i '" + set + "'")) << set;
  const PodNamespace pod;
  const Status attached = run(module->call(AttachCall{claim, pod.pod()}, soon()));
  ASSERT_TRUE(attached) << attached.error().message;
  EXPECT_TRUE(pod.ip_says("link show", "02:00:00:00:00:42"));
  const Status detached = run(module->call(DetachCall{claim, pod.pod()}, soon()));
  EXPECT_TRUE(detached) << detached.error().message;
  const Status released = run(module->call(UnprepareCall{claim}, patiently()));
  ASSERT_TRUE(released) << released.error().message;
  for (const char* unset : {"02:00:00:00:00:42", "vlan 77", "max_tx_rate", "spoof checking off", "trust on"})
    EXPECT_FALSE(succeeds(card + " | grep 'vf 0' | grep '" + unset + "'")) << unset;
}

TEST_P(NicMachine, WhatItsCardRefusesLeavesAVirtualFunctionAsItWas) {
  const std::string card = "ip link show " + interface_of(kCard);
  ModuleClaim claim = HardwareFixture::claim_of("u1", {kFirstName}, R"("vf":{"vlan":77,"linkState":"enable"})",
                                                "NicConfig", ConfigSource::kClass);
  const auto refused = kept(run(preparing(claim, patiently())), claim);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, AllOf(HasSubstr("cannot have vf.linkState"), HasSubstr("not supported")));
  EXPECT_FALSE(succeeds(card + " | grep 'vf 0' | grep 'vlan 77'"));
  EXPECT_TRUE(run(module->call(UnprepareCall{claim}, patiently())));
}

TEST_P(NicMachine, AnEthernetCardHasNoGuids) {
  ModuleClaim claim =
      HardwareFixture::claim_of("u1", {kFirstName}, R"("vf":{"vlan":77,"nodeGuid":"00:11:22:33:44:55:66:77"})",
                                "NicConfig", ConfigSource::kClass);
  const auto refused = kept(run(preparing(claim, patiently())), claim);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("cannot have vf.nodeGuid"));
  EXPECT_FALSE(succeeds("ip link show " + interface_of(kCard) + " | grep 'vf 0' | grep 'vlan 77'"));
  EXPECT_TRUE(run(module->call(UnprepareCall{claim}, patiently())));
}

TEST_P(NicMachine, AVirtualFunctionThatIsDestroyedInAPodIsReleased) {
  const PodNamespace pod;
  ModuleClaim claim = claim_of("u1", kFirstName);
  ASSERT_TRUE(prepare(claim));
  ASSERT_TRUE(run(module->call(AttachCall{claim, pod.pod()}, soon())));
  make_virtual_functions(0);
  EXPECT_THAT(names(), Not(Contains(kFirstName)));
  EXPECT_TRUE(run(module->call(DetachCall{claim, pod.pod()}, soon())));
  const Status released = run(module->call(UnprepareCall{claim}, patiently()));
  EXPECT_TRUE(released) << released.error().message;
  make_virtual_functions(2);
  EXPECT_TRUE(begins([] { return !interface_of(kFirst).empty(); }));
  EXPECT_THAT(names(), Contains(kFirstName)) << "it comes back";
}

TEST_P(NicMachine, AnErrorThatTheKernelRecoversFromIsStated) {
  const auto reason = [this] {
    reports.clear();
    discover();
    let_news_pass();
    settle();
    for (const auto& [device, health] : reports)
      if (device == kOther && health.cause == "PcieErrors") return health.reason;
    return std::string();
  };
  EXPECT_EQ(reason(), "") << "nothing has happened";
  // drivers/pci/pcie/aer_inject.c
  const struct {
    std::uint8_t bus = 0x41, device = 0, function = 0, padding = 0;
    std::uint32_t uncorrected = 0x1000, corrected = 0, log[4] = {}, domain = 0;  // a poisoned TLP
  } poisoned;
  static_assert(sizeof poisoned == 32);
  const int inject = ::open("/dev/aer_inject", O_WRONLY | O_CLOEXEC);
  ASSERT_GE(inject, 0) << std::strerror(errno);
  EXPECT_EQ(::write(inject, &poisoned, sizeof poisoned), static_cast<ssize_t>(sizeof poisoned)) << std::strerror(errno);
  ::close(inject);
  bool was_stated = false;  // it is stated once
  EXPECT_TRUE(begins([&] { return was_stated = was_stated || reason() == "NonFatalError"; }));
}

TEST_P(NicMachine, SoftRoceComesWithItsInterface) {
  const std::string interface = interface_of(kOther);
  ASSERT_TRUE(succeeds("ip link set " + interface + " up"));
  ASSERT_TRUE(begins([&] { return succeeds("grep -q 1 /sys/class/net/" + interface + "/carrier"); }));
  ASSERT_TRUE(succeeds("rdma link add rxe0 type rxe netdev " + interface));
  EXPECT_THAT(attributes_of(device("nic-0000-41-00-0")), AllOf(Contains("rdma=true"), Contains("rdmaDevice=rxe0")));
  ModuleClaim claim = claim_of("u1", "nic-0000-41-00-0", R"("mode":"Rdma")");
  const auto prepared = prepare(claim);
  ASSERT_TRUE(prepared) << prepared.error().message;
  std::vector<std::string> nodes;
  for (const DeviceNode& node : prepared->allocations.at(0).device_nodes) nodes.push_back(node.path);
  EXPECT_THAT(nodes, AllOf(Contains("/dev/infiniband/uverbs0"), Contains("/dev/infiniband/rdma_cm")));
  EXPECT_TRUE(run(module->call(UnprepareCall{claim}, patiently())));
  EXPECT_EQ(interface_of(kOther), interface) << "it stays with the node";
  ASSERT_TRUE(succeeds("rdma link delete rxe0"));
  EXPECT_THAT(attributes_of(device("nic-0000-41-00-0")), Contains("rdma=false"));
}

// Runs last, because the card does not come back.
TEST_P(NicMachine, ZACardThatIsPulledOutOfAPodIsGone) {
  PodNamespace pod;
  ModuleClaim claim = claim_of("u1", "nic-0000-41-00-0", R"("interface":{"name":"net1"})");
  ASSERT_TRUE(prepare(claim));
  ASSERT_TRUE(run(module->call(AttachCall{claim, pod.pod()}, soon())));
  ask_monitor("device_del igb1");
  ASSERT_TRUE(begins([] { return !std::filesystem::exists(folder_of(kOther)); })) << "the button is pressed for 5 s";
  EXPECT_THAT(names(), Not(Contains("nic-0000-41-00-0")));
  EXPECT_TRUE(run(module->call(DetachCall{claim, pod.pod()}, soon())));
  const Status released = run(module->call(UnprepareCall{claim}, patiently()));
  EXPECT_TRUE(released) << released.error().message;
}

}  // namespace
}  // namespace cardcage
