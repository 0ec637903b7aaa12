// Tests moves of an interface to a pod and back, in real network namespaces with interfaces that iproute2 makes.
#include "tests/fakes/network_namespace.h"
#include "tests/fakes/pod_namespace.h"
#include "tests/nic/nic_fixture.h"

namespace cardcage {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class NicHandOver : public NicFixture {
 protected:
  void SetUp() override {
    if (!node.works() || !pod.works()) GTEST_SKIP() << "no network namespace can be made here";
    ASSERT_TRUE(node.ip("link add nic0 type veth peer name peer0"));
    ASSERT_TRUE(node.ip("link set peer0 up"));
    ASSERT_TRUE(node.ip("link set nic0 address 02:00:00:00:00:10 mtu 1400 txqueuelen 500 alias rack-3"));
    ASSERT_TRUE(node.ip("address add 192.0.2.7/24 dev nic0"));
    tree.netdev("nic0");
    tree.netdev_attribute("nic0", "address", "02:00:00:00:00:10");
    tree.netdev_attribute("nic0", "mtu", "1400");
    tree.netdev_attribute("nic0", "tx_queue_len", "500");
    tree.netdev_attribute("nic0", "ifalias", "rack-3");
    ASSERT_TRUE(start({{"interfaces", std::vector<std::string>{"nic*"}}}));
  }
  ModuleClaim claim_of(const std::string& uid, const std::string& params = {},
                       ConfigSource source = ConfigSource::kClaim) {
    return HardwareFixture::claim_of(uid, {"nic-nic0"}, params, "NicConfig", source);
  }
  Status attach(const ModuleClaim& claim, const PodNamespace& to) {
    return run(module->call(AttachCall{claim, to.pod()}, soon()));
  }
  Status detach(const ModuleClaim& claim, const PodNamespace& from) {
    return run(module->call(DetachCall{claim, from.pod()}, soon()));
  }
  // Returns whether the interface has all settings from before the move.
  bool is_as_before() const {
    return on_node("link show nic0", "mtu 1400") && on_node("link show nic0", "qlen 500") &&
           on_node("link show nic0", "02:00:00:00:00:10") && on_node("link show nic0", "alias rack-3") &&
           on_node("link show nic0", "state DOWN") && on_node("address show nic0", "192.0.2.7/24");
  }
  bool on_node(const std::string& command, const std::string& text) const {
    return node.ip(command + " | tee /dev/stderr | grep -qF -- '" + text + "'");
  }

  NetworkNamespace node;
  PodNamespace pod, other;
};
INSTANTIATE_TEST_SUITE_P(Isolation, NicHandOver, ::testing::Values(Isolation::kInProcess, Isolation::kProcess),
                         name_of_isolation);

TEST_P(NicHandOver, AnInterfaceGoesToThePodAndComesBackAsItWas) {
  ModuleClaim claim =
      claim_of("u1", R"("interface":{"name":"net1","mtu":1300,"addresses":["10.1.2.3/24","2001:db8::3/64"]},
      "routes":["10.9.0.0/16 via 10.1.2.1","default via 10.1.2.1 table 100"],"rules":["from 10.1.2.3 table 100"])");
  const auto prepared = prepare(claim);
  ASSERT_TRUE(prepared) << prepared.error().message;
  EXPECT_EQ(prepared->statements.at(0).network,
            (NetworkData{"net1", {"10.1.2.3/24", "2001:db8::3/64"}, "02:00:00:00:00:10"}));
  const Status attached = attach(claim, pod);
  ASSERT_TRUE(attached) << attached.error().message;
  EXPECT_FALSE(node.ip("link show nic0"));
  EXPECT_TRUE(pod.ip_says("link show net1", "mtu 1300"));
  EXPECT_TRUE(pod.ip_says("link show net1", "LOWER_UP"));
  EXPECT_TRUE(pod.ip_says("address show net1", "inet 10.1.2.3/24"));
  EXPECT_TRUE(pod.ip_says("address show net1", "inet6 2001:db8::3/64"));
  EXPECT_TRUE(pod.ip_says("route show", "10.9.0.0/16 via 10.1.2.1 dev net1"));
  EXPECT_TRUE(pod.ip_says("route show table 100", "default via 10.1.2.1 dev net1"));
  EXPECT_TRUE(pod.ip_says("rule show", "from 10.1.2.3 lookup 100"));

  EXPECT_TRUE(attach(claim, pod)) << "for the next container of the pod";
  ASSERT_TRUE(pod.ip("link set net1 down"));
  ASSERT_TRUE(pod.ip("link set net1 name renamed address 02:00:00:00:00:99")) << "a pod with CAP_NET_ADMIN";
  const Status detached = detach(claim, pod);
  ASSERT_TRUE(detached) << detached.error().message;
  EXPECT_TRUE(is_as_before());
  EXPECT_TRUE(detach(claim, pod)) << "again";
  EXPECT_TRUE(unprepare(claim));
  EXPECT_TRUE(is_as_before());
}

TEST_P(NicHandOver, OneThatTheRuntimeMovesIsLeftToIt) {
  ModuleClaim claim = claim_of("u1", R"("interface":{"movedBy":"Runtime","name":"net1"})");
  ASSERT_TRUE(prepare(claim));
  ASSERT_TRUE(attach(claim, pod)) << "nothing is to be done";
  EXPECT_TRUE(is_as_before());
  ASSERT_TRUE(node.ip("link set nic0 mtu 1300 up"));
  EXPECT_TRUE(detach(claim, pod));
  const Status released = unprepare(claim);
  EXPECT_TRUE(released) << released.error().message;
  EXPECT_TRUE(is_as_before());
}

TEST_P(NicHandOver, ADeviceStaysOneWhileAPodHasItsInterface) {
  ModuleClaim claim = claim_of("u1");
  ASSERT_TRUE(prepare(claim));
  ASSERT_TRUE(attach(claim, pod));
  std::filesystem::remove_all(tree.sysfs() / "class/net/nic0");
  EXPECT_THAT(names(), Contains("nic-nic0"));
  module.reset();
  ASSERT_TRUE(start({{"interfaces", std::vector<std::string>{"nic*"}}})) << "a new instance";
  EXPECT_THAT(names(), Not(Contains("nic-nic0")));
  ASSERT_TRUE(run(module->call(ReconcileCall{{claim}}, soon())));
  EXPECT_THAT(names(), Contains("nic-nic0"));
  EXPECT_THAT(attributes_of(device("nic-nic0")), Contains("alias=rack-3"));
  EXPECT_TRUE(detach(claim, pod));
  EXPECT_TRUE(is_as_before());
}

TEST_P(NicHandOver, TwoPodsNeverHaveOneInterface) {
  ModuleClaim claim = claim_of("u1");
  ASSERT_TRUE(prepare(claim));
  ASSERT_TRUE(attach(claim, pod));
  const Status second = attach(claim, other);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(second.error().message, HasSubstr("interface 'nic0' of device 'interface/nic0' is not on the node"));
  EXPECT_TRUE(pod.ip("link show nic0"));
}

TEST_P(NicHandOver, AnotherInterfaceThatTookTheNameStays) {
  for (const char* params : {"", R"("interface":{"movedBy":"Runtime"})"}) {
    ModuleClaim claim = claim_of("u1", params);
    ASSERT_TRUE(prepare(claim));
    ASSERT_TRUE(node.ip("link set nic0 name before"));
    ASSERT_TRUE(node.ip("link add nic0 mtu 1450 type veth peer name taker"));
    if (*params == '\0') {
      const Status refused = attach(claim, pod);
      ASSERT_FALSE(refused);
      EXPECT_EQ(refused.error().code, Code::kFailedPrecondition);
      EXPECT_THAT(refused.error().message, HasSubstr("the one that has its name now is another"));
    }
    EXPECT_TRUE(detach(claim, pod));
    EXPECT_TRUE(unprepare(claim));
    EXPECT_TRUE(on_node("link show nic0", "mtu 1450")) << params;
    EXPECT_FALSE(on_node("link show nic0", "02:00:00:00:00:10")) << params;
    ASSERT_TRUE(node.ip("link delete nic0"));
    ASSERT_TRUE(node.ip("link set before name nic0"));
  }
}

TEST_P(NicHandOver, AnotherInterfaceWithTheNameOfAHeldDeviceIsNotThatDevice) {
  ModuleClaim claim = claim_of("u1");
  ASSERT_TRUE(prepare(claim));
  ASSERT_TRUE(attach(claim, pod));
  tree.netdev_attribute("nic0", "address", "02:00:00:00:00:77");
  tree.netdev_attribute("nic0", "ifalias", "another");
  EXPECT_THAT(attributes_of(device("nic-nic0")), Contains("alias=rack-3"));
  EXPECT_TRUE(detach(claim, pod));
}

TEST_P(NicHandOver, AnInterfaceOfHardwareIsNoDeviceWithoutHardwareWhateverItIsCalled) {
  ModuleClaim claim = claim_of("u1");
  tree.card("0000:41:00.0");
  tree.link("sys/class/net/nic0/device", tree.root() / tree.function("0000:41:00.0"));
  const auto refused = prepare(claim);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("'interface/nic0' is not on this node any more"));
}

TEST_P(NicHandOver, ANameThatThePodHasAlreadyIsRefused) {
  ASSERT_TRUE(pod.ip("link add net1 type veth peer name other"));
  ASSERT_TRUE(pod.ip("link property add dev other altname net2"));
  const std::pair<const char*, const char*> taken[] = {
      {"net1", "the pod has an interface 'net1' already"},
      {"net2", "interface 'other' of the pod has the alternative name 'net2'"}};
  for (const auto& [name, message] : taken) {
    ModuleClaim claim = claim_of("u1", fmt::format(R"("interface":{{"name":"{}"}})", name));
    ASSERT_TRUE(prepare(claim));
    const Status refused = attach(claim, pod);
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr(message));
    EXPECT_TRUE(is_as_before());
  }
}

TEST_P(NicHandOver, AlternativeNamesStayOnTheNode) {
  ASSERT_TRUE(node.ip("link property add dev nic0 altname net1 altname slot-3"));
  ModuleClaim claim = claim_of("u1", R"("interface":{"name":"net1"})");
  ASSERT_TRUE(prepare(claim));
  const Status attached = attach(claim, pod);
  ASSERT_TRUE(attached) << attached.error().message;
  EXPECT_FALSE(pod.ip("link show slot-3"));
  ASSERT_TRUE(pod.ip("link property add dev net1 altname nic0")) << "as udev does it, and a pod may";
  const Status detached = detach(claim, pod);
  ASSERT_TRUE(detached) << detached.error().message;
  EXPECT_TRUE(is_as_before());
  EXPECT_TRUE(on_node("link show nic0", "altname net1"));
  EXPECT_TRUE(on_node("link show nic0", "altname slot-3"));
}

TEST_P(NicHandOver, ItsOldNameAsAnAlternativeOneIsNoObstacle) {
  ModuleClaim claim = claim_of("u1");
  ASSERT_TRUE(prepare(claim));
  ASSERT_TRUE(node.ip("link set nic0 alias 'cardcage claim u1 device interface/nic0' name enp1s0"));
  ASSERT_TRUE(node.ip("link property add dev enp1s0 altname nic0"));
  const Status released = unprepare(claim);
  ASSERT_TRUE(released) << released.error().message;
  EXPECT_TRUE(is_as_before());
}

TEST_P(NicHandOver, WhateverAPodMakesOfItItComesBack) {
  ASSERT_TRUE(node.ip("address add 192.0.2.8/24 dev nic0 label nic0:1 metric 50 brd + noprefixroute"));
  ASSERT_TRUE(node.ip("address add 2001:db8::7/64 dev nic0 nodad"));
  ModuleClaim claim = claim_of("u1", R"("interface":{"name":"net1"})");
  ASSERT_TRUE(prepare(claim));
  ASSERT_TRUE(attach(claim, pod));
  ASSERT_TRUE(pod.ip("link set net1 down"));
  ASSERT_TRUE(
      pod.ip("link set net1 alias mine name mine address 02:00:00:00:00:99 mtu 1234 promisc on allmulticast on"));
  ASSERT_TRUE(pod.ip("link set mine gso_max_size 4096 txqueuelen 7"));
  ASSERT_TRUE(pod.ip("link property add dev mine altname also-mine"));
  ASSERT_TRUE(pod.ip("link add cage0 type veth peer name cage1")) << "which may be in the way";
  const Status detached = detach(claim, pod);
  ASSERT_TRUE(detached) << detached.error().message;
  EXPECT_TRUE(is_as_before());
  EXPECT_FALSE(on_node("link show nic0", "PROMISC"));
  EXPECT_FALSE(on_node("link show nic0", "ALLMULTI"));
  EXPECT_FALSE(on_node("link show nic0", "also-mine"));
  EXPECT_FALSE(on_node("-d link show nic0", "gso_max_size 4096"));
  EXPECT_TRUE(on_node("address show nic0",
                      "inet 192.0.2.8/24 metric 50 brd 192.0.2.255 scope global secondary "
                      "noprefixroute nic0:1"));
  EXPECT_TRUE(on_node("address show nic0", "inet6 2001:db8::7/64"));
  EXPECT_TRUE(unprepare(claim));
}

TEST_P(NicHandOver, AddressesRoutesAndNeighboursGoAlongAndComeBack) {
  ASSERT_TRUE(node.ip("link set nic0 up"));
  ASSERT_TRUE(node.ip("route add 198.51.100.0/24 via 192.0.2.1 dev nic0 metric 77"));
  ASSERT_TRUE(node.ip("route add 198.51.101.0/24 via 192.0.2.1 dev nic0 table 5"));
  ASSERT_TRUE(node.ip("neighbour add 192.0.2.1 lladdr 02:00:00:00:00:01 nud permanent dev nic0"));
  tree.netdev_attribute("nic0", "flags", "0x1003");
  ModuleClaim claim = claim_of("u1", R"("interface":{"name":"net1"})");
  const auto prepared = prepare(claim);
  ASSERT_TRUE(prepared) << prepared.error().message;
  EXPECT_EQ(prepared->statements.at(0).network->ips, std::vector<std::string>{"192.0.2.7/24"});
  const Status attached = attach(claim, pod);
  ASSERT_TRUE(attached) << attached.error().message;
  EXPECT_TRUE(pod.ip_says("address show net1", "inet 192.0.2.7/24 scope global net1"));
  EXPECT_TRUE(pod.ip_says("route show", "198.51.100.0/24 via 192.0.2.1 dev net1 metric 77"));
  EXPECT_TRUE(pod.ip_says("neighbour show dev net1", "192.0.2.1 lladdr 02:00:00:00:00:01 PERMANENT"));
  EXPECT_FALSE(pod.ip_says("route show table 5", "198.51.101.0/24")) << "the rules of that table stay";
  ASSERT_TRUE(detach(claim, pod));
  EXPECT_TRUE(on_node("route show", "198.51.100.0/24 via 192.0.2.1 dev nic0 metric 77"));
  EXPECT_TRUE(on_node("route show table 5", "198.51.101.0/24 via 192.0.2.1 dev nic0"));
  EXPECT_TRUE(on_node("neighbour show dev nic0", "192.0.2.1 lladdr 02:00:00:00:00:01 PERMANENT"));
}

TEST_P(NicHandOver, SysctlsComeBack) {
  const auto set = [&](const std::string& name, const std::string& value) {
    return std::system(("echo " + value + " > /proc/sys/net/" + name).c_str()) == 0;
  };
  const auto is = [&](const std::string& name, const std::string& value) {
    return std::system(("grep -qx " + value + " /proc/sys/net/" + name).c_str()) == 0;
  };
  ASSERT_TRUE(set("ipv4/conf/nic0/rp_filter", "2") && set("ipv4/conf/nic0/forwarding", "1"));
  ASSERT_TRUE(set("ipv6/conf/nic0/accept_ra", "0") && set("ipv4/neigh/nic0/gc_stale_time", "77"));
  ModuleClaim claim = claim_of("u1");
  ASSERT_TRUE(prepare(claim));
  ASSERT_TRUE(attach(claim, pod));
  ASSERT_TRUE(detach(claim, pod));
  EXPECT_TRUE(is("ipv4/conf/nic0/rp_filter", "2"));
  EXPECT_TRUE(is("ipv4/conf/nic0/forwarding", "1"));
  EXPECT_TRUE(is("ipv6/conf/nic0/accept_ra", "0"));
  EXPECT_TRUE(is("ipv4/neigh/nic0/gc_stale_time", "77"));
}

TEST_P(NicHandOver, OneWithAddressesOfItsClaimInheritsNoneUnlessItSaysSo) {
  for (const auto& [ipam, inherits] : {std::pair("", false), std::pair(R"(,"ipam":{"mode":"Claim"})", false),
                                       std::pair(R"(,"ipam":{"mode":"Inherit"})", true)}) {
    ModuleClaim claim = claim_of("u1", fmt::format(R"("interface":{{"addresses":["10.1.2.3/24"]}}{})", ipam));
    ASSERT_TRUE(prepare(claim));
    ASSERT_TRUE(attach(claim, pod));
    EXPECT_TRUE(pod.ip_says("address show nic0", "inet 10.1.2.3/24"));
    EXPECT_EQ(pod.ip_says("address show nic0", "inet 192.0.2.7/24"), inherits) << ipam;
    ASSERT_TRUE(detach(claim, pod));
    ASSERT_TRUE(unprepare(claim));
  }
}

TEST_P(NicHandOver, APodWithoutIPv6GetsTheOtherAddresses) {
  ASSERT_TRUE(pod.run("echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6"));
  ASSERT_TRUE(node.ip("address add 2001:db8::7/64 dev nic0 nodad"));
  ModuleClaim claim = claim_of("u1");
  ASSERT_TRUE(prepare(claim));
  const Status attached = attach(claim, pod);
  ASSERT_TRUE(attached) << attached.error().message;
  EXPECT_TRUE(pod.ip_says("address show nic0", "inet 192.0.2.7/24"));
  ASSERT_TRUE(detach(claim, pod));
  ASSERT_TRUE(unprepare(claim));
  ModuleClaim wants = claim_of("u2", R"("interface":{"addresses":["2001:db8::3/64"]})");
  ASSERT_TRUE(prepare(wants));
  const Status refused = attach(wants, pod);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message,
              HasSubstr("IPv6 disabled, so its interface cannot have the address 2001:db8::3/64"));
  EXPECT_TRUE(is_as_before());
}

// Version 0 of the module's state had addresses as text, and neither an index nor the fields behind it.
TEST_P(NicHandOver, WhatAnEarlierModuleSavedIsRead) {
  ModuleClaim claim = claim_of("u1");
  ASSERT_TRUE(prepare(claim));
  ASSERT_TRUE(attach(claim, pod));
  std::string state;
  for (const char* field : {"interface/nic0", "nic0", "rack-3", "02:00:00:00:00:10", "1", "0", "1400", "1000", "0",
                            "up", "500", "1", "192.0.2.7/24"})
    state += std::string(field) + '\0';
  claim.state = state;
  claim.state_version = 0;
  const Status released = detach(claim, pod);
  ASSERT_TRUE(released) << released.error().message;
  EXPECT_TRUE(is_as_before());
  EXPECT_TRUE(unprepare(claim));
}

TEST_P(NicHandOver, WhatFailsHalfWayIsUndone) {
  // The gateway is not reachable through the interface.
  ModuleClaim claim = claim_of("u1", R"("interface":{"name":"net1"},"routes":["10.9.0.0/16 via 172.16.0.1"])");
  ASSERT_TRUE(prepare(claim));
  const Status refused = attach(claim, pod);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("cannot be moved to the pod"));
  EXPECT_FALSE(pod.ip("link show net1"));
  EXPECT_TRUE(is_as_before());
}

TEST_P(NicHandOver, ALateReleaseTouchesNothingOfTheNextClaim) {
  ModuleClaim late = claim_of("u1"), next = claim_of("u2", R"("interface":{"name":"net1"})");
  ASSERT_TRUE(prepare(late));
  ASSERT_TRUE(attach(late, pod));
  ASSERT_TRUE(detach(late, pod));
  ASSERT_TRUE(prepare(next));
  ASSERT_TRUE(attach(next, other));
  EXPECT_TRUE(detach(late, other));
  EXPECT_TRUE(unprepare(late));
  EXPECT_TRUE(other.ip("link show net1"));
  EXPECT_TRUE(detach(next, other));
  EXPECT_TRUE(is_as_before());
}

TEST_P(NicHandOver, ANameThatTheNodeGaveAwayMeanwhileKeepsTheInterfaceForTheNextAttempt) {
  ModuleClaim claim = claim_of("u1");
  ASSERT_TRUE(prepare(claim));
  ASSERT_TRUE(attach(claim, pod));
  ASSERT_TRUE(node.ip("link add nic0 type veth peer name squatter"));
  const Status clash = detach(claim, pod);
  ASSERT_FALSE(clash);
  EXPECT_THAT(clash.error().message, HasSubstr("cannot get its name 'nic0' back: 'nic0' has that name now"));
  ASSERT_TRUE(node.ip("link delete nic0"));
  EXPECT_TRUE(unprepare(claim));
  EXPECT_TRUE(is_as_before());
}

TEST_P(NicHandOver, AnInterfaceWithoutHardwareEndsWithItsPod) {
  ModuleClaim claim = claim_of("u1");
  ASSERT_TRUE(prepare(claim));
  ASSERT_TRUE(attach(claim, pod));
  std::filesystem::remove_all(tree.sysfs() / "class/net/nic0");
  pod.end();
  EXPECT_TRUE(unprepare(claim));
  EXPECT_THAT(names(), Not(Contains("nic-nic0")));
}

TEST_P(NicHandOver, AnAdministratorsClaimAndOneOfAResourceLeaveTheInterface) {
  ModuleClaim admin = claim_of("u1"), of_resource = claim_of("u2");
  admin.allocations.at(0).admin_access = true;
  of_resource.resource = "example.com/nic";
  for (ModuleClaim* claim : {&admin, &of_resource}) {
    const auto prepared = prepare(*claim);
    ASSERT_TRUE(prepared) << prepared.error().message;
    EXPECT_THAT(prepared->statements, IsEmpty());
    EXPECT_TRUE(attach(*claim, pod));
    EXPECT_TRUE(is_as_before());
    EXPECT_TRUE(unprepare(*claim));
  }
}

// A function whose interface was called eth7 when the claim was prepared.
class NicRenamed : public NicFixture {
 protected:
  void SetUp() override {
    if (!node.works() || !pod.works()) GTEST_SKIP() << "no network namespace can be made here";
    ASSERT_TRUE(node.ip("link add eth7 address 02:00:00:00:00:70 type veth peer name peer7"));
    tree.card(kFunction);
    tree.netdev("eth7", kFunction);
    tree.netdev_attribute("eth7", "address", "02:00:00:00:00:70");
    ASSERT_TRUE(start());
  }
  // Acts like udev, which then gives the name to another card.
  void rename() {
    ASSERT_TRUE(node.ip("link set eth7 name ens1"));
    ASSERT_TRUE(node.ip("link add eth7 address 02:00:00:00:00:71 type veth peer name other7"));
    tree.move_away("eth7", kFunction);
    tree.netdev("ens1", kFunction);
    tree.netdev_attribute("ens1", "address", "02:00:00:00:00:70");
    tree.netdev("eth7", "0000:42:00.0");
    tree.netdev_attribute("eth7", "address", "02:00:00:00:00:71");
  }
  ModuleClaim claim_of(const std::string& uid, const std::string& params = {}) {
    return HardwareFixture::claim_of(uid, {"nic-0000-41-00-0"}, params, "NicConfig");
  }
  bool is_called(const std::string& name, const std::string& mac) const {
    return node.ip("link show " + name + " | tee /dev/stderr | grep -qF " + mac);
  }

  static constexpr const char* kFunction = "0000:41:00.0";
  NetworkNamespace node;
  PodNamespace pod;
};
INSTANTIATE_TEST_SUITE_P(Isolation, NicRenamed, ::testing::Values(Isolation::kInProcess, Isolation::kProcess),
                         name_of_isolation);

TEST_P(NicRenamed, TheInterfaceOfTheFunctionIsMovedAndComesBackUnderItsNewName) {
  ModuleClaim claim = claim_of("u1");
  ASSERT_TRUE(prepare(claim));
  rename();
  const Status attached = run(module->call(AttachCall{claim, pod.pod()}, soon()));
  ASSERT_TRUE(attached) << attached.error().message;
  EXPECT_TRUE(pod.ip_says("link show eth7", "02:00:00:00:00:70")) << "under the name that the claim's status has";
  EXPECT_TRUE(is_called("eth7", "02:00:00:00:00:71"));
  EXPECT_FALSE(node.ip("link show ens1"));
  const Status detached = run(module->call(DetachCall{claim, pod.pod()}, soon()));
  ASSERT_TRUE(detached) << detached.error().message;
  EXPECT_TRUE(is_called("ens1", "02:00:00:00:00:70"));
  EXPECT_TRUE(is_called("eth7", "02:00:00:00:00:71"));
  EXPECT_TRUE(unprepare(claim));
  EXPECT_TRUE(is_called("ens1", "02:00:00:00:00:70"));
}

TEST_P(NicRenamed, OneThatTheRuntimeMovedIsRestoredUnderItsNewName) {
  ModuleClaim claim = claim_of("u1", R"("interface":{"movedBy":"Runtime"})");
  ASSERT_TRUE(prepare(claim));
  rename();
  const Status released = unprepare(claim);
  ASSERT_TRUE(released) << released.error().message;
  EXPECT_TRUE(is_called("ens1", "02:00:00:00:00:70"));
  EXPECT_TRUE(is_called("eth7", "02:00:00:00:00:71"));
}

TEST_P(NicRenamed, NamesFromBeforeARestartOfTheNodeAreForgotten) {
  ModuleClaim claim = claim_of("u1", R"("interface":{"movedBy":"Runtime"})");
  ASSERT_TRUE(prepare(claim));
  rename();
  ASSERT_TRUE(node.ip("link set ens1 mtu 1450"));
  claim.other_boot = true;
  EXPECT_TRUE(unprepare(claim));
  EXPECT_TRUE(node.ip("link show ens1 | grep -qF 'mtu 1450'")) << "nothing of it was moved in this boot";
  const auto again = prepare(claim);
  ASSERT_TRUE(again) << again.error().message;
  ASSERT_TRUE(again->statements.at(0).network);
  EXPECT_EQ(again->statements.at(0).network->interface_name, "ens1");
}

TEST_P(NicHandOver, WhatNamesNothingIsRefusedWhenTheClaimIsPrepared) {
  const std::pair<const char*, const char*> wrong[] = {
      {R"("interface":{"name":"a/b"})", "interface.name: 'a/b' is not understood"},
      {R"("interface":{"name":"all"})", "interface.name: the kernel reserves the name 'all'; choose another one"},
      {R"("interface":{"name":"lo"})", "the kernel reserves the name 'lo'"},
      {R"("interface":{"addresses":["10.1.2.3"]})", "'10.1.2.3' is not understood; write \"10.1.2.3/24\""},
      {R"("interface":{"mtu":40})", "interface.mtu: '40' is not understood; an MTU has 68 bytes at least"},
      {R"("interface":{"addresses":["10.1.2"]})", "interface.addresses: '10.1.2' is not understood"},
      {R"("interface":{"addresses":["10.1.2.3/33"]})", "'10.1.2.3/33' is not understood"},
      {R"("routes":["10.1.2.3/24 via 10.1.2.1"])", "routes: '10.1.2.3/24 via 10.1.2.1' is not understood"},
      {R"("routes":["default"])", "routes: 'default' is not understood"},
      {R"("rules":["table 100"])", "rules: 'table 100' is not understood"},
      {R"("mode":"Rdma","interface":{"name":"net1"})", "are for mode Kernel"}};
  for (const auto& [params, message] : wrong) {
    ModuleClaim claim = claim_of("u1", params);
    const auto refused = prepare(claim);
    ASSERT_FALSE(refused) << params;
    EXPECT_EQ(refused.error().code, Code::kInvalidArgument);
    EXPECT_THAT(refused.error().message, HasSubstr(message));
  }
  ModuleClaim mac = claim_of("u1", R"("interface":{"mac":"02-00"})", ConfigSource::kClass);
  EXPECT_THAT(prepare(mac).error().message, HasSubstr("interface.mac: '02-00' is not understood"));
}

}  // namespace
}  // namespace cardcage
