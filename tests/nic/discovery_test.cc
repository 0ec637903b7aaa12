// Tests the devices that a node's cards and interfaces become, and their attributes.
#include "tests/fakes/network_namespace.h"
#include "tests/nic/nic_fixture.h"

namespace cardcage {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::Pair;
using List = std::vector<std::string>;

const std::string kCard = "0000:01:00.0", kFirst = "0000:01:10.0", kSecond = "0000:01:10.2", kOther = "0000:41:00.0";

bool flag(const Device& device, const std::string& name) { return std::get<bool>(device.attributes.at(name)); }

class NicDiscovery : public NicFixture {
 protected:
  // Adds a card with two virtual functions, of which the second has no driver.
  void with_virtual_functions() {
    tree.card(kCard);
    tree.netdev("enp1s0", kCard);
    tree.attribute(kCard, "sriov_numvfs", "2\n");
    tree.card(kFirst, "igbvf");
    tree.netdev("enp1s0v0", kFirst);
    tree.card(kSecond, "");
    tree.virtual_function(kCard, 0, kFirst);
    tree.virtual_function(kCard, 1, kSecond);
  }
};
INSTANTIATE_TEST_SUITE_P(Isolation, NicDiscovery, ::testing::Values(Isolation::kInProcess, Isolation::kProcess),
                         name_of_isolation);

TEST_P(NicDiscovery, ACardIsADeviceWithItsInterface) {
  tree.card(kOther);
  tree.netdev("enp65s0", kOther);
  tree.netdev_attribute("enp65s0", "ifalias", "rack 7");
  tree.attribute(kOther, "acpi_index", "101\n");
  ASSERT_TRUE(start());
  ASSERT_THAT(names(), ElementsAre("nic-0000-41-00-0"));
  const Device card = device("nic-0000-41-00-0");
  EXPECT_EQ(card.id, kOther);
  EXPECT_EQ(card.pci_bus_id, kOther);
  EXPECT_THAT(attributes_of(card), IsSupersetOf<std::string>(
                                       {"type=pf", "virtual=false", "ifName=enp65s0", "mac=52:54:00:12:34:56",
                                        "mtu=1500", "state=up", "speedMbps=1000", "encapsulation=ether", "alias=rack 7",
                                        "driver=igb", "vendor=0x8086", "device=0x10c9", "acpiIndex=101"}));
  EXPECT_FALSE(flag(card, "rdma"));
  EXPECT_FALSE(flag(card, "vfio")) << "it has no IOMMU group";
  EXPECT_FALSE(card.attributes.contains("isSriovVf"));
}

TEST_P(NicDiscovery, VirtualFunctionsTakeThePlaceOfTheirCard) {
  with_virtual_functions();
  tree.iommu_group(kFirst, "8");
  ASSERT_TRUE(start());
  ASSERT_THAT(names(), ElementsAre("nic-0000-01-10-0", "nic-0000-01-10-2"));
  const Device first = device("nic-0000-01-10-0"), second = device("nic-0000-01-10-2");
  EXPECT_THAT(attributes_of(first), IsSupersetOf<std::string>({"type=vf", "isSriovVf=true", "virtual=false",
                                                               "pfName=enp1s0", "pfPciAddress=" + kCard, "vfIndex=0",
                                                               "ifName=enp1s0v0", "driver=igbvf", "iommuGroup=8"}));
  EXPECT_TRUE(flag(first, "vfio"));
  EXPECT_THAT(attributes_of(second), IsSupersetOf<std::string>({"type=vf", "vfIndex=1"}));
  EXPECT_THAT(attributes_of(second), Not(Contains(HasSubstr("ifName="))));
  EXPECT_THAT(attributes_of(second), Not(Contains(HasSubstr("driver="))));
  EXPECT_THAT(attributes_of(second), Not(Contains(HasSubstr("iommuGroup="))));
  EXPECT_THAT(attributes_of(second), Not(Contains(HasSubstr("acpiIndex="))));
}

TEST_P(NicDiscovery, InterfacesThatShareAPortAreNotOffered) {
  tree.card(kOther);
  tree.netdev("enp65s0", kOther);
  tree.netdev("enp65s1", kOther, "1");
  ASSERT_TRUE(start());
  EXPECT_THAT(names(), ElementsAre("nic-0000-41-00-0-port-0", "nic-0000-41-00-0-port-1"));
  tree.netdev_attribute("enp65s1", "dev_port", "0");
  EXPECT_THAT(names(), IsEmpty());
}

TEST_P(NicDiscovery, WhatAnInterfaceCannotTellIsLeftOut) {
  tree.card(kOther);
  tree.netdev("enp65s0", kOther);
  tree.netdev_attribute("enp65s0", "speed", "-1");
  tree.netdev_attribute("enp65s0", "operstate", "down");
  ASSERT_TRUE(start());
  const auto attributes = attributes_of(device("nic-0000-41-00-0"));
  EXPECT_THAT(attributes, Contains("state=down"));
  EXPECT_THAT(attributes, Not(Contains(HasSubstr("speedMbps"))));
  EXPECT_THAT(attributes, Not(Contains(HasSubstr("alias"))));
}

TEST_P(NicDiscovery, AnAliasThatIsNoAttributeCostsNoDevice) {
  tree.card(kOther);
  tree.netdev("enp65s0", kOther);
  for (const auto& [alias, shown] : {std::pair{std::string(63, 'x') + "\u00e9", std::string(63, 'x')},
                                     {std::string(65, 'x'), std::string(64, 'x')},
                                     {std::string("rack \xff\x01"), std::string("rack ??")}}) {
    tree.netdev_attribute("enp65s0", "ifalias", alias);
    if (!module) {
      ASSERT_TRUE(start());
    }
    EXPECT_THAT(attributes_of(device("nic-0000-41-00-0")), Contains("alias=" + shown));
  }
}

TEST_P(NicDiscovery, NoTextOfTheMachineCostsADevice) {
  tree.card(kOther);
  tree.netdev("r\xe9seau", kOther);
  tree.netdev_attribute("r\xe9seau", "operstate", std::string(100, 'u'));
  tree.attribute(kOther, "vendor", std::string(100, 'v'));
  std::filesystem::remove(tree.root() / NicTree::function(kOther) / "driver");
  tree.driver(kOther, std::string(63, 'd') + "\u00e9");
  ASSERT_TRUE(start());
  EXPECT_THAT(attributes_of(device("nic-0000-41-00-0")),
              IsSupersetOf<std::string>({"ifName=r?seau", "state=" + std::string(64, 'u'),
                                         "vendor=" + std::string(64, 'v'), "driver=" + std::string(63, 'd')}));
}

TEST_P(NicDiscovery, ADeviceWhoseInterfaceIsInAPodStaysAsItWas) {
  tree.card(kOther);
  tree.netdev("enp65s0", kOther);
  ASSERT_TRUE(start());
  const auto before = attributes_of(device("nic-0000-41-00-0"));
  tree.move_away("enp65s0", kOther);
  EXPECT_EQ(attributes_of(device("nic-0000-41-00-0")), before);
}

TEST_P(NicDiscovery, ADeviceThatWasInAPodAlreadyIsOfferedWithoutItsInterface) {
  tree.card(kOther);
  tree.netdev("enp65s0", kOther);
  tree.move_away("enp65s0", kOther);
  ASSERT_TRUE(start());
  ASSERT_THAT(names(), ElementsAre("nic-0000-41-00-0"));
  EXPECT_THAT(attributes_of(device("nic-0000-41-00-0")), Not(Contains(HasSubstr("ifName"))));
}

TEST_P(NicDiscovery, ACardWithTwoInterfacesIsTwoDevices) {
  tree.card(kOther, "mlx4_core");
  tree.netdev("enp65s0", kOther, "0");
  tree.netdev("enp65s0d1", kOther, "1");
  ASSERT_TRUE(start());
  ASSERT_THAT(names(), ElementsAre("nic-0000-41-00-0-port-0", "nic-0000-41-00-0-port-1"));
  const Device second = device("nic-0000-41-00-0-port-1");
  EXPECT_EQ(second.id, kOther + "/port-1");
  EXPECT_THAT(attributes_of(second), Contains("ifName=enp65s0d1"));
}

TEST_P(NicDiscovery, RepresentorsAreNoDevices) {
  tree.card(kOther, "mlx5_core");
  tree.netdev("enp65s0", kOther);
  tree.netdev("enp65s0_0", kOther);
  tree.netdev("pf0hpf", kOther);
  for (const auto& [name, port] :
       {std::pair("enp65s0", "p0"), std::pair("enp65s0_0", "pf0vf0"), std::pair("pf0hpf", "pf0hpf")}) {
    tree.netdev_attribute(name, "phys_switch_id", "5e8d4b0003a1420c");
    tree.netdev_attribute(name, "phys_port_name", port);
  }
  ASSERT_TRUE(start());
  ASSERT_THAT(names(), ElementsAre("nic-0000-41-00-0"));
  EXPECT_THAT(attributes_of(device("nic-0000-41-00-0")), Contains("ifName=enp65s0"));
}

TEST_P(NicDiscovery, TheInterfaceOfAVirtioCardIsBelowIt) {
  tree.card(kOther, "virtio-pci");
  tree.netdev("eth7");
  std::filesystem::create_directories(tree.root() / NicTree::function(kOther) / "virtio3/net/eth7");
  ASSERT_TRUE(start());
  EXPECT_THAT(attributes_of(device("nic-0000-41-00-0")), Contains("ifName=eth7"));
}

TEST_P(NicDiscovery, RdmaDevicesAreAttributes) {
  tree.card(kOther, "mlx5_core", "0x020700");
  tree.netdev("ib0", kOther);
  tree.netdev_attribute("ib0", "type", "32");
  tree.netdev_attribute("ib0", "pkey", "0xffff");
  std::filesystem::create_directories(tree.root() / NicTree::function(kOther) / "infiniband/mlx5_0");
  std::filesystem::create_directories(tree.root() / NicTree::function(kOther) / "vdpa0");
  ASSERT_TRUE(start());
  const Device card = device("nic-0000-41-00-0");
  EXPECT_TRUE(flag(card, "rdma"));
  EXPECT_THAT(attributes_of(card), IsSupersetOf<std::string>({"rdmaDevice=mlx5_0", "encapsulation=infiniband",
                                                              "pkey=0xffff", "vdpaDevice=vdpa0"}));
}

TEST_P(NicDiscovery, OtherFunctionsAreNoDevices) {
  tree.card("0000:3b:00.0", "nvidia", "0x030200");
  ASSERT_TRUE(start());
  EXPECT_THAT(names(), IsEmpty());
}

TEST_P(NicDiscovery, InterfacesThatTheNodeNeedsAreNotOffered) {
  tree.card(kCard);
  tree.netdev("enp1s0", kCard);
  tree.card(kOther);
  tree.netdev("enp65s0", kOther);
  ASSERT_TRUE(start({{"keep", List{"enp1*"}}}));
  EXPECT_THAT(names(), ElementsAre("nic-0000-41-00-0"));
}

TEST_P(NicDiscovery, InterfacesWithADefaultRouteAreNotOffered) {
  const NetworkNamespace node;
  if (!node.works()) GTEST_SKIP() << "no network namespace can be made here";
  ASSERT_TRUE(node.ip("link add enp1s0 type veth peer name enp65s0"));
  ASSERT_TRUE(node.ip("link set enp65s0 up") && node.ip("link set enp1s0 up"));
  ASSERT_TRUE(node.ip("route add default dev enp1s0"));
  for (const auto& [card, interface] : {std::pair(kCard, "enp1s0"), std::pair(kOther, "enp65s0")}) {
    tree.card(card);
    tree.netdev(interface, card);
  }
  ASSERT_TRUE(start());
  EXPECT_THAT(names(), ElementsAre("nic-0000-41-00-0"));
  EXPECT_THAT(discover()->not_offered, ElementsAre(Pair(kCard, HasSubstr("it has a default route of the node"))));
}

// iproute2 makes each interface that uses the card.
TEST_P(NicDiscovery, WhatTheNodeUsesIsNotOffered) {
  const NetworkNamespace node;
  if (!node.works()) GTEST_SKIP() << "no network namespace can be made here";
  const std::pair<const char*, const char*> uses[] = {
      {"link add br0 type bridge; ip link set enp65s0 master br0", "it is a port of 'br0'"},
      {"link add link enp65s0 name macvlan0 type macvlan", "'macvlan0' is made of it"},
      {"address add 10.1.2.3/24 dev enp65s0", "it has the address 10.1.2.3/24 on the node"},
      {"address add 2001:db8::3/64 dev enp65s0", "it has the address 2001:db8::3/64 on the node"}};
  tree.card(kOther);
  tree.netdev("enp65s0", kOther);
  for (const auto& [command, reason] : uses) {
    ASSERT_TRUE(node.ip("link add enp65s0 type veth peer name peer"));
    ASSERT_TRUE(start());
    EXPECT_THAT(names(), ElementsAre("nic-0000-41-00-0")) << command;
    ModuleClaim claim = claim_of("u1", {"nic-0000-41-00-0"}, {}, "NicConfig");
    ASSERT_TRUE(node.ip(command));
    EXPECT_THAT(names(), IsEmpty()) << command;
    EXPECT_THAT(discover()->not_offered, Contains(Pair(kOther, HasSubstr(reason)))) << command;
    const auto refused = prepare(claim);
    ASSERT_FALSE(refused) << command;
    EXPECT_THAT(refused.error().message, HasSubstr(std::string("interface 'enp65s0' of device '0000:41:00.0' stays "
                                                               "with the node: ") +
                                                   reason));
    let_go();
    ASSERT_TRUE(node.ip("link delete enp65s0"));
    for (const char* made : {"br0", "macvlan0"}) std::ignore = node.ip(std::string("link delete ") + made);
  }
}

TEST_P(NicDiscovery, AnAddressThatTheOperatorKnowsOfIsNoObstacle) {
  const NetworkNamespace node;
  if (!node.works()) GTEST_SKIP() << "no network namespace can be made here";
  ASSERT_TRUE(node.ip("link add enp65s0 type veth peer name peer"));
  ASSERT_TRUE(node.ip("address add 10.1.2.3/24 dev enp65s0"));
  tree.card(kOther);
  tree.netdev("enp65s0", kOther);
  ASSERT_TRUE(start({{"interfaces", List{"enp65*"}}}));
  EXPECT_THAT(names(), ElementsAre("nic-0000-41-00-0"));
}

TEST_P(NicDiscovery, WhatIsMadeOfAnInterfaceOfTheNodeIsOffered) {
  const NetworkNamespace node;
  if (!node.works()) GTEST_SKIP() << "no network namespace can be made here";
  ASSERT_TRUE(node.ip("link add enp1s0 type veth peer name peer"));
  ASSERT_TRUE(node.ip("link add link enp1s0 name macvlan0 type macvlan"));
  tree.netdev("macvlan0");
  tree.netdev("enp1s0");
  ASSERT_TRUE(start({{"interfaces", List{"macvlan*", "enp*"}}}));
  EXPECT_THAT(names(), ElementsAre("nic-macvlan0"));
}

TEST_P(NicDiscovery, InterfacesWithoutHardwareAreOfferedOnRequest) {
  tree.netdev("macvtap0");
  tree.netdev("veth-A.1");
  tree.netdev("lo");
  tree.netdev_attribute("lo", "type", "772");
  tree.card(kOther);
  tree.netdev("enp65s0", kOther);
  ASSERT_TRUE(start({{"interfaces", List{"veth-*", "lo", "enp*"}}}));
  ASSERT_THAT(names(), ElementsAre("nic-0000-41-00-0", "nic-veth-a-1"));
  const Device veth = device("nic-veth-a-1");
  EXPECT_EQ(veth.id, "interface/veth-A.1");
  EXPECT_THAT(attributes_of(veth), IsSupersetOf<std::string>({"type=interface", "ifName=veth-A.1"}));
}

}  // namespace
}  // namespace cardcage
