// The NIC module on SR-IOV cards that a machine has: two Intel 82576 (igb) of QEMU, 0000:01:00.0 below pci0000:00 and
// 0000:41:00.0 below pci0000:40, with an IOMMU.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "host/module/driver_records.h"
#include "tests/common/hardware_fixture.h"
#include "tests/fakes/built_files.h"
#include "tests/fakes/pod_namespace.h"
#include "tests/qemu/machine_files.h"

namespace cardcage {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsSubsetOf;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

const std::string kCard = "0000:01:00.0", kFirst = "0000:01:10.0", kOther = "0000:41:00.0";
constexpr const char *kFirstName = "nic-0000-01-10-0", *kSecondName = "nic-0000-01-10-2";

std::filesystem::path folder_of(const std::string& bus_id) { return "/sys/bus/pci/devices/" + bus_id; }

std::string interface_of(const std::string& bus_id) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder_of(bus_id) / "net", error))
    return entry.path().filename();
  return "";
}

std::string driver_of(const std::string& bus_id) {
  std::error_code error;
  return std::filesystem::read_symlink(folder_of(bus_id) / "driver", error).filename();
}

std::string index_of(const std::string& interface) {
  std::ifstream file("/sys/class/net/" + interface + "/ifindex");
  std::string index;
  file >> index;
  return index;
}

class NicMachine : public HardwareFixture {
 protected:
  NicMachine() : HardwareFixture("nic.cardcage.dev/v1alpha1") { modules_dir = built_modules(); }
  ~NicMachine() override {
    let_go();
    make_virtual_functions(0);
  }

  void SetUp() override {
    roots = {.sysfs = "/sys", .procfs = "/proc", .devfs = "/dev", .driver = "/"};
    writes->records = std::make_unique<DriverRecords>(folder / "drivers", "this boot");
    make_virtual_functions(2);
    ASSERT_TRUE(begins([] { return !interface_of(kFirst).empty() && !interface_of("0000:01:10.2").empty(); }));
    start();
  }
  void start(const std::vector<std::string>& allowed = {"/sys/bus/pci/devices/*/driver_override",
                                                        "/sys/bus/pci/devices/*/reset"}) {
    ModuleConfig wanted = config("libcardcage_nic.so");
    wanted.writes = allowed;
    const Status started = start_module(wanted);
    ASSERT_TRUE(started) << started.error().message;
  }
  static void make_virtual_functions(int count) {
    write_to(folder_of(kCard) / "sriov_numvfs", std::to_string(count) + "\n");
  }
  // Waits for what the kernel does by itself.
  template <class Done>
  static bool begins(Done done) {
    for (int i = 0; i < 300 && !done(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    return done();
  }
  ModuleClaim claim_of(const std::string& uid, const std::string& name, const std::string& params = {}) {
    return HardwareFixture::claim_of(uid, {name}, params, "NicConfig");
  }
  Instant patiently() const { return clock.now() + std::chrono::seconds(60); }
  // Asks who runs the machine to do something to its hardware: "device_del igb1".
  static void ask_monitor(const std::string& command) {
    std::ofstream("/dev/ttyS0") << "@monitor " << command << std::endl;
  }
};

INSTANTIATE_TEST_SUITE_P(Isolation, NicMachine, ::testing::Values(Isolation::kProcess), name_of_isolation);

TEST_P(NicMachine, FindsVirtualFunctionsAndTheirCard) {
  EXPECT_THAT(names(), UnorderedElementsAre(kFirstName, kSecondName, "nic-0000-41-00-0"));
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
  EXPECT_THAT(names(), UnorderedElementsAre("nic-0000-01-00-0", "nic-0000-41-00-0"));
  make_virtual_functions(1);
  EXPECT_THAT(names(), UnorderedElementsAre(kFirstName, "nic-0000-41-00-0"));
}

TEST_P(NicMachine, AVirtualFunctionGoesToAPodAndBack) {
  const std::string before = interface_of(kFirst);
  ASSERT_TRUE(succeeds("ip link set " + before + " mtu 1400 alias rack-3"));
  const PodNamespace pod;
  ModuleClaim claim = claim_of("u1", kFirstName, R"("interface":{"name":"net1","addresses":["10.1.2.3/24"]})");
  const auto prepared = prepare(claim);
  ASSERT_TRUE(prepared) << prepared.error().message;
  const Status attached = run(module->attach(claim, pod.pod(), soon()));
  ASSERT_TRUE(attached) << attached.error().message;
  EXPECT_TRUE(pod.ip_says("address show net1", "inet 10.1.2.3/24"));
  EXPECT_EQ(interface_of(kFirst), "");
  EXPECT_THAT(attributes_of(device(kFirstName)), Contains("ifName=" + before)) << "while it is away";
  const Status detached = run(module->detach(claim, pod.pod(), soon()));
  ASSERT_TRUE(detached) << detached.error().message;
  const auto is_as_before = [&before] {
    return interface_of(kFirst) == before && succeeds("ip link show " + before + " | grep 'mtu 1400'") &&
           succeeds("ip link show " + before + " | grep 'alias rack-3'");
  };
  EXPECT_TRUE(is_as_before());
  const std::string index = index_of(before);
  const Status released = run(module->unprepare(claim, patiently()));
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
  const Status released = run(module->unprepare(claim, patiently()));
  EXPECT_TRUE(released) << released.error().message;
  EXPECT_EQ(interface_of(kFirst), before);
  EXPECT_EQ(index_of(before), index);
}

TEST_P(NicMachine, AVirtualFunctionComesBackByItselfWhenItsPodEnds) {
  const std::string before = interface_of(kFirst);
  PodNamespace pod;
  ModuleClaim claim = claim_of("u1", kFirstName, R"("interface":{"name":"net1","mtu":1300})");
  ASSERT_TRUE(prepare(claim));
  ASSERT_TRUE(run(module->attach(claim, pod.pod(), soon())));
  ASSERT_TRUE(pod.ip("link set net1 down"));
  ASSERT_TRUE(pod.ip("link set net1 address 02:00:00:00:00:99"));
  pod.end();
  const Status released = run(module->unprepare(claim, patiently()));
  ASSERT_TRUE(released) << released.error().message;
  EXPECT_EQ(interface_of(kFirst), before);
  EXPECT_TRUE(succeeds("ip link show " + before + " | grep 'mtu 1500'"));
  EXPECT_FALSE(succeeds("ip link show " + before + " | grep 02:00:00:00:00:99"));
  EXPECT_FALSE(succeeds("ip link show " + before + " | grep alias"));
}

// A reset would make the interface anew.
TEST_P(NicMachine, AVirtualFunctionThatAPodHasHiddenComesBackWithoutAReset) {
  let_go();
  start({});
  const std::string before = interface_of(kFirst), index = index_of(before);
  for (const bool by_itself : {false, true}) {
    PodNamespace pod;
    ModuleClaim claim = claim_of(by_itself ? "u2" : "u1", kFirstName, R"("interface":{"name":"net1"})");
    ASSERT_TRUE(prepare(claim));
    ASSERT_TRUE(run(module->attach(claim, pod.pod(), soon())));
    ASSERT_TRUE(pod.ip("link set net1 down"));
    ASSERT_TRUE(pod.ip("link set net1 alias mine name mine mtu 1300 address 02:00:00:00:00:99"));
    ASSERT_TRUE(pod.ip("link property add dev mine altname " + before));
    if (by_itself)
      pod.end();
    else
      ASSERT_TRUE(run(module->detach(claim, pod.pod(), soon())));
    const Status released = run(module->unprepare(claim, patiently()));
    ASSERT_TRUE(released) << released.error().message;
    EXPECT_EQ(interface_of(kFirst), before);
    EXPECT_TRUE(succeeds("ip link show " + before + " | grep 'mtu 1500'"));
    EXPECT_FALSE(succeeds("ip link show " + before + " | grep -E '02:00:00:00:00:99|alias|altname'"));
    if (!by_itself) {
      EXPECT_EQ(index_of(before), index);
    }
  }
}

TEST_P(NicMachine, WhatTheNodeUsesIsNotOffered) {
  const std::string interface = interface_of(kOther);
  for (const std::string& use :
       std::initializer_list<std::string>{"link add link " + interface + " name use0 type vlan id 7",
                                          "link add link " + interface + " name use0 type macvlan",
                                          "link add use0 type bridge && ip link set " + interface + " master use0"}) {
    ASSERT_TRUE(succeeds("ip " + use)) << use;
    EXPECT_THAT(names(), Not(Contains("nic-0000-41-00-0"))) << use;
    ASSERT_TRUE(succeeds("ip link delete use0"));
    EXPECT_THAT(names(), Contains("nic-0000-41-00-0")) << use;
  }
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
  const Status released = run(module->unprepare(claim, patiently()));
  ASSERT_TRUE(released) << released.error().message;
  EXPECT_EQ(driver_of(kFirst), "igbvf");
  EXPECT_TRUE(begins([] { return !interface_of(kFirst).empty(); }));
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
  const Status attached = run(module->attach(claim, pod.pod(), soon()));
  ASSERT_TRUE(attached) << attached.error().message;
  EXPECT_TRUE(pod.ip_says("link show", "02:00:00:00:00:42"));
  const Status detached = run(module->detach(claim, pod.pod(), soon()));
  EXPECT_TRUE(detached) << detached.error().message;
  const Status released = run(module->unprepare(claim, patiently()));
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
  EXPECT_TRUE(run(module->unprepare(claim, patiently())));
}

TEST_P(NicMachine, AVirtualFunctionThatIsDestroyedInAPodIsReleased) {
  const PodNamespace pod;
  ModuleClaim claim = claim_of("u1", kFirstName);
  ASSERT_TRUE(prepare(claim));
  ASSERT_TRUE(run(module->attach(claim, pod.pod(), soon())));
  make_virtual_functions(0);
  EXPECT_THAT(names(), Not(Contains(kFirstName)));
  EXPECT_TRUE(run(module->detach(claim, pod.pod(), soon())));
  const Status released = run(module->unprepare(claim, patiently()));
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
  EXPECT_TRUE(run(module->unprepare(claim, patiently())));
  EXPECT_EQ(interface_of(kOther), interface) << "it stays with the node";
  ASSERT_TRUE(succeeds("rdma link delete rxe0"));
  EXPECT_THAT(attributes_of(device("nic-0000-41-00-0")), Contains("rdma=false"));
}

// The kernel's RDMA core with a device of rdma_card.c, each of whose devices is in one namespace.
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
  // The kernel takes a mode once the namespaces of pods have ended.
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
    const Status released = run(module->unprepare(claim, patiently()));
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
  const Status attached = run(module->attach(claim, pod.pod(), soon()));
  ASSERT_TRUE(attached) << attached.error().message;
  EXPECT_TRUE(is_in(pod));
  EXPECT_FALSE(is_on_node());
  EXPECT_TRUE(pod.ip("link show net1"));
  EXPECT_THAT(attributes_of(device(kFirstName)), AllOf(Contains("rdma=true"), Contains("rdmaDevice=card0")));
  EXPECT_TRUE(run(module->attach(claim, pod.pod(), soon()))) << "for the next container of the pod";
  const auto again = prepare(claim);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->allocations.at(0).device_nodes.at(0).path, "/dev/infiniband/uverbs0") << "while the pod has it";
  ASSERT_TRUE(pod.run("rdma dev set card0 name mine")) << "a pod with CAP_NET_ADMIN";
  const Status detached = run(module->detach(claim, pod.pod(), soon()));
  ASSERT_TRUE(detached) << detached.error().message;
  EXPECT_TRUE(is_on_node());
  EXPECT_FALSE(is_in(pod, "mine"));
  expect_released(claim);
}

TEST_P(ExclusiveRdma, TheDeviceComesBackWhenItsPodEnds) {
  ModuleClaim claim = prepared_claim("u1");
  {
    PodNamespace pod;
    ASSERT_TRUE(run(module->attach(claim, pod.pod(), soon())));
    ASSERT_TRUE(pod.run("rdma dev set card0 name mine"));
    pod.end();
  }
  expect_released(claim);
}

// The address is of a network that the interface cannot reach.
TEST_P(ExclusiveRdma, AMoveThatFailsLeavesTheDeviceOnTheNode) {
  const PodNamespace pod, other;
  ModuleClaim claim = claim_of("u1", kFirstName, R"("routes":["10.9.0.0/16 via 10.1.2.1"])");
  ASSERT_TRUE(prepare(claim));
  EXPECT_FALSE(run(module->attach(claim, pod.pod(), soon())));
  EXPECT_TRUE(is_on_node());
  ModuleClaim second = prepared_claim("u1");
  ASSERT_TRUE(run(module->attach(second, pod.pod(), soon())));
  EXPECT_FALSE(run(module->attach(second, other.pod(), soon()))) << "another pod has it";
  EXPECT_TRUE(is_in(pod));
  EXPECT_TRUE(run(module->detach(second, pod.pod(), soon())));
  expect_released(second);
}

// A device of a lower number went away: this one gets its number, and the container has the node of the old one.
TEST_P(ExclusiveRdma, ADeviceWhoseNodesChangeIsNotGiven) {
  write_to(kParameter, "\n");
  const std::string other = interface_of(kOther);
  ASSERT_TRUE(succeeds("ip link set " + other + " up"));
  ASSERT_TRUE(succeeds("rdma link add rxe0 type rxe netdev " + other));
  write_to(kParameter, kFirst + "\n");
  const PodNamespace pod;
  ModuleClaim claim = prepared_claim("u1");
  ASSERT_TRUE(succeeds("rdma link delete rxe0"));
  const Status refused = run(module->attach(claim, pod.pod(), soon()));
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

// The last one: the card does not come back.
TEST_P(NicMachine, ZACardThatIsPulledOutOfAPodIsGone) {
  PodNamespace pod;
  ModuleClaim claim = claim_of("u1", "nic-0000-41-00-0", R"("interface":{"name":"net1"})");
  ASSERT_TRUE(prepare(claim));
  ASSERT_TRUE(run(module->attach(claim, pod.pod(), soon())));
  ask_monitor("device_del igb1");
  ASSERT_TRUE(begins([] { return !std::filesystem::exists(folder_of(kOther)); })) << "the button is pressed for 5 s";
  EXPECT_THAT(names(), Not(Contains("nic-0000-41-00-0")));
  EXPECT_TRUE(run(module->detach(claim, pod.pod(), soon())));
  const Status released = run(module->unprepare(claim, patiently()));
  EXPECT_TRUE(released) << released.error().message;
}

}  // namespace
}  // namespace cardcage
