// Tests that a move is a transaction: if a step fails or is killed, the interface is either in the pod as requested or
// on the node as before. Uses real interfaces, which a pod with CAP_NET_ADMIN changes.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <linux/bpf.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <random>

#include "modules/nic/hand_over.h"
#include "tests/common/command_output.h"
#include "tests/common/recording_host.h"
#include "tests/fakes/network_namespace.h"
#include "tests/fakes/pod_namespace.h"
#include "tests/fakes/stepped_process.h"
#include "tests/nic/nic_tree.h"

namespace cardcage::nic {
namespace {

// One interface in namespaces of its own.
class Scene {
 public:
  explicit Scene(const std::string& kind) {
    if (!works()) return;
    // Otherwise the kernel looks for duplicates of addresses, and marks them as tentative until then.
    std::ofstream("/proc/sys/net/ipv6/conf/default/accept_dad") << 0;
    const std::string made = kind == "veth" ? "link add nic0 type veth peer name peer1\nlink set peer1 up\n"
                                            : "link add link lower0 name nic0 type macvlan mode bridge\n";
    good_ = node_.ip(
        "-batch - <<'END'\nlink add peer0 type veth peer name lower0\nlink set peer0 up\nlink set lower0 up\n" + made +
        "link set nic0 address 02:00:00:00:00:10 mtu 1400 txqueuelen 500 alias rack-3 up\n"
        "link property add dev nic0 altname slot-3\n"
        "address add 192.0.2.7/24 brd + dev nic0 label nic0:1 noprefixroute\n"
        "address add 2001:db8::7/64 dev nic0\n"
        "route add 198.51.100.0/24 dev nic0 metric 77\n"
        "route add 198.51.101.0/24 via 198.51.100.1 dev nic0 table 5\n"
        "neighbour add 198.51.100.1 lladdr 02:00:00:00:00:01 nud permanent dev nic0\nEND\n");
    tree_.netdev("nic0");
    for (const auto& [attribute, value] :
         {std::pair("address", "02:00:00:00:00:10"), std::pair("mtu", "1400"), std::pair("tx_queue_len", "500"),
          std::pair("ifalias", "rack-3"), std::pair("flags", "0x1003")})
      tree_.netdev_attribute("nic0", attribute, value);
    if (const auto found = read_interface(tree(), "interface/nic0")) kept_ = *found;
    settings_.name = "net1";
    settings_.addresses = {*parse_address("10.1.2.3/24")};
    settings_.inherits = false;
    before_ = on_node();
  }

  bool works() const { return node_.works() && pod_.works(); }
  bool is_good() const { return good_ && kept_.index != 0 && before_.contains("198.51.101.0/24"); }

  bool attach() const {
    return succeeds([&] { hand_over_.attach(kept_, settings_, "u1", cage::Pod(&raw_pod_)); });
  }
  bool detach() const {
    return succeeds([&] { hand_over_.detach(kept_, "u1", cage::Pod(&raw_pod_)); });
  }
  bool restore() const {
    return succeeds([&] { hand_over_.restore(host_.call(), kept_, "u1"); });
  }

  void want_mac() { settings_.mac = "02:00:00:00:00:42"; }
  int pod_socket() const { return sandbox_.route_socket->get(); }
  bool pod_ip(const std::string& command) const { return pod_.ip(command); }
  // Returns the kernel's description of the interface on the node.
  std::string on_node() const {
    return output_of(
        "ip -d address show dev nic0 | sed '/valid_lft/d; s/ tentative//; s/ nodad//'; "
        "ip route show table all dev nic0 | grep -v 'proto kernel'; "
        "ip neighbour show dev nic0 nud permanent; ip -o link show | grep -c ': cage'");
  }
  void expect_as_before(const std::string& about) const { EXPECT_EQ(on_node(), before_) << about; }
  // Returns whether the interface has the requested name and address.
  bool is_in_pod() const { return pod_.ip_says("address show net1", "inet 10.1.2.3/24"); }
  bool is_in_pod_otherwise() const {
    return pod_.ip_says("-o link show", ": cage") || (!is_in_pod() && pod_.ip("link show net1"));
  }

 private:
  static bool succeeds(const std::function<void()>& step) try {
    step();
    return true;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return false;
  }
  hardware::Node tree() const { return {.sysfs = tree_.sysfs(), .procfs = "/proc", .devfs = tree_.devfs()}; }

  NetworkNamespace node_;
  PodNamespace pod_;
  NicTree tree_;
  RecordingHost host_;
  HandOver hand_over_{host_.host(), tree(), Udev(host_.host(), {})};
  SandboxedPod sandbox_ = pod_.pod();
  cage_pod raw_pod_{.struct_size = sizeof(cage_pod),
                    .network_namespace = works() ? sandbox_.network_namespace->get() : -1,
                    .route_socket = works() ? sandbox_.route_socket->get() : -1,
                    .reserved = 0,
                    .uid = {},
                    .name_space = {},
                    .name = {},
                    .network_namespace_path = {}};
  KeptInterface kept_;
  Settings settings_;
  std::string before_;
  bool good_ = false;
};

class NicMove : public ::testing::TestWithParam<std::tuple<const char*, int>> {
 protected:
  void SetUp() override {
    if (!Scene("veth").works()) GTEST_SKIP() << "no network namespace can be made here";
#ifndef __x86_64__
    GTEST_SKIP() << "the steps of a process are counted on x86-64 alone";
#endif
  }
  static const char* kind() { return std::get<0>(GetParam()); }
  // Returns the interference at the step. EEXIST spares requests for which an existing object is not an error.
  static Interference interference(int step) {
    Interference made{.step = step, .error = std::get<1>(GetParam())};
    if (made.error == EEXIST) made.spares = {RTM_NEWROUTE, RTM_NEWNEIGH, RTM_NEWRULE};
    return made;
  }
};
INSTANTIATE_TEST_SUITE_P(Interfaces, NicMove,
                         ::testing::Combine(::testing::Values("veth", "macvlan"),
                                            ::testing::Values(Interference::kKill, EEXIST, EBUSY, ENODEV)),
                         [](const auto& about) {
                           const int error = std::get<1>(about.param);
                           return fmt::format("{}_{}", std::get<0>(about.param),
                                              error == 0 ? "SIGKILL" : ::strerrorname_np(error));
                         });

constexpr int kMostSteps = 100;

TEST_P(NicMove, AnAttachEndsInThePodOrOnTheNode) {
  int step = 0;
  for (; step < kMostSteps; ++step) {
    Scene scene(kind());
    ASSERT_TRUE(scene.is_good());
    const SteppedResult result = run_stepped([&] { return scene.attach(); }, interference(step));
    const std::string about = fmt::format("step {}", step);
    if (!result.was_killed) {
      EXPECT_EQ(scene.is_in_pod(), result.succeeded) << about;
      EXPECT_FALSE(scene.is_in_pod_otherwise()) << about;
      if (!result.succeeded) scene.expect_as_before(about);
    }
    EXPECT_TRUE(scene.attach()) << about << ": the next attempt";
    EXPECT_TRUE(scene.is_in_pod()) << about;
    EXPECT_TRUE(scene.detach()) << about;
    scene.expect_as_before(about + ", then detached");
    if (HasFailure() || result.steps <= step) break;
  }
  EXPECT_GT(step, 10);
  EXPECT_LT(step, kMostSteps);
}

TEST_P(NicMove, ADetachEndsOnTheNode) {
  int step = 0;
  for (; step < kMostSteps; ++step) {
    Scene scene(kind());
    ASSERT_TRUE(scene.is_good());
    ASSERT_TRUE(scene.attach());
    const SteppedResult result = run_stepped([&] { return scene.detach(); }, interference(step));
    const std::string about = fmt::format("step {}", step);
    if (!result.succeeded) {
      EXPECT_TRUE(scene.detach() && scene.restore()) << about;
    }
    scene.expect_as_before(about);
    if (HasFailure() || result.steps <= step) break;
  }
  EXPECT_GT(step, 10);
  EXPECT_LT(step, kMostSteps);
}

// The driver of a virtual function may be busy with what its card has just set.
TEST(NicMoveOfAMac, AnAddressIsTriedAgain) {
  if (!Scene("veth").works()) GTEST_SKIP() << "no network namespace can be made here";
#ifndef __x86_64__
  GTEST_SKIP() << "the steps of a process are counted on x86-64 alone";
#endif
  const auto failures = [](bool with_mac) {
    int count = 0;
    for (int step = 0; step < kMostSteps; ++step) {
      Scene scene("veth");
      if (with_mac) scene.want_mac();
      const SteppedResult result = run_stepped([&] { return scene.attach(); }, {.step = step, .error = EBUSY});
      count += result.succeeded ? 0 : 1;
      if (result.steps <= step) break;
    }
    return count;
  };
  EXPECT_EQ(failures(true), failures(false));
}

class NicMoveBesideUdev : public NicMove {};
INSTANTIATE_TEST_SUITE_P(Interfaces, NicMoveBesideUdev,
                         ::testing::Combine(::testing::Values("veth", "macvlan"), ::testing::Values(0)),
                         [](const auto& about) { return std::string(std::get<0>(about.param)); });

// udev gives a new interface alternative names, and the kernel then refuses such a name as the main one.
TEST_P(NicMoveBesideUdev, AMoveSucceedsIfTheNameBecomesAnAlternativeOneMeanwhile) {
  int met = 0;
  const auto add_name = [&met] {
    for (const char* passing : {"cage0", "cage1"})
      if (std::system(fmt::format("ip link property add dev {} altname nic0 2>/dev/null", passing).c_str()) == 0) ++met;
  };
  int step = 0;
  for (; step < kMostSteps; ++step) {
    Scene scene(kind());
    ASSERT_TRUE(scene.is_good());
    const Interference udev{.step = step, .act = add_name};
    const std::string about = fmt::format("step {}", step);
    const SteppedResult in = run_stepped([&] { return scene.attach(); }, udev);
    EXPECT_TRUE(in.succeeded && scene.is_in_pod()) << about;
    const SteppedResult out = run_stepped([&] { return scene.detach(); }, udev);
    EXPECT_TRUE(out.succeeded) << about;
    scene.expect_as_before(about);
    if (HasFailure() || std::max(in.steps, out.steps) <= step) break;
  }
  EXPECT_GT(met, 3) << "while the interface was on the node under a passing name";
  EXPECT_LT(step, kMostSteps);
}

// Loads a program that lets every frame pass.
UniqueFd load_xdp() {
  const std::array<bpf_insn, 2> code{bpf_insn{.code = BPF_ALU64 | BPF_MOV | BPF_K, .imm = XDP_PASS},
                                     bpf_insn{.code = BPF_JMP | BPF_EXIT}};
  bpf_attr attributes{};
  attributes.prog_type = BPF_PROG_TYPE_XDP;
  attributes.insns = reinterpret_cast<std::uint64_t>(code.data());
  attributes.insn_cnt = code.size();
  attributes.license = reinterpret_cast<std::uint64_t>("GPL");
  return UniqueFd(static_cast<int>(::syscall(SYS_bpf, BPF_PROG_LOAD, &attributes, sizeof attributes)));
}

TEST(NicMoveXdp, AProgramOfThePodIsRemoved) {
  Scene scene("veth");
  if (!scene.works()) GTEST_SKIP() << "no network namespace can be made here";
  const UniqueFd program = load_xdp();
  if (!program) GTEST_SKIP() << "no BPF program can be loaded here";
  ASSERT_TRUE(scene.is_good());
  ASSERT_TRUE(scene.attach());
  NetlinkSocket pod(scene.pod_socket());
  const auto inside = read_link(pod, "net1");
  ASSERT_TRUE(inside);
  pod.change(RTM_SETLINK, 0, [&](nlmsghdr& message) {
    static_cast<ifinfomsg*>(mnl_nlmsg_put_extra_header(&message, sizeof(ifinfomsg)))->ifi_index =
        static_cast<int>(inside->index);
    nlattr* const nest = mnl_attr_nest_start(&message, IFLA_XDP);
    mnl_attr_put_u32(&message, IFLA_XDP_FD, static_cast<std::uint32_t>(program.get()));
    mnl_attr_put_u32(&message, IFLA_XDP_FLAGS, XDP_FLAGS_SKB_MODE);
    mnl_attr_nest_end(&message, nest);
  });
  ASSERT_TRUE(scene.pod_ip("link show net1 | grep -q xdp")) << "the program is there";
  EXPECT_TRUE(scene.detach());
  scene.expect_as_before("with a program");
}

class NicMoves : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Interfaces, NicMoves, ::testing::Values("veth", "macvlan"),
                         [](const auto& about) { return std::string(about.param); });

// Runs moves, kills and changes by a pod in random order.
TEST_P(NicMoves, WhateverHappensItComesBackAsItWas) {
  constexpr int kSequences = 12, kLength = 10;
  constexpr std::array kTricks{"link set %s alias mine",
                               "link set %s alias 'cardcage claim u2 device interface/nic0'",
                               "link set %s down",
                               "link set %s up",
                               "link set %s mtu 1300",
                               "link set %s address 02:00:00:00:00:99",
                               "link set %s promisc on",
                               "link set %s txqueuelen 9",
                               "link property add dev %s altname nic0",
                               "link property add dev %s altname cage7",
                               "address add 10.9.9.9/24 dev %s",
                               "address flush dev %s",
                               "route flush dev %s",
                               "link add cage0 type dummy",
                               "link set %s down name renamed",
                               "link set %s gso_max_size 2048"};
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  std::mt19937 random(seed);
  const auto below = [&random](std::size_t limit) { return random() % limit; };
  for (int sequence = 0; sequence < kSequences; ++sequence) {
    Scene scene(GetParam());
    if (!scene.works()) GTEST_SKIP() << "no network namespace can be made here";
    ASSERT_TRUE(scene.is_good());
    std::string story;
    for (int i = 0; i < kLength; ++i) {
      const Interference interference{.step = static_cast<int>(below(25)), .error = below(2) == 0 ? 0 : EBUSY};
      switch (below(6)) {
        case 0: scene.attach(), story += "attach\n"; break;
        case 1: scene.detach(), story += "detach\n"; break;
        case 2: run_stepped([&] { return scene.attach(); }, interference), story += "attach, disturbed\n"; break;
        case 3: run_stepped([&] { return scene.detach(); }, interference), story += "detach, disturbed\n"; break;
        default: {
          std::string trick = kTricks.at(below(kTricks.size()));
          for (const char* name : {"net1", "renamed"}) {
            std::string command = trick;
            if (const auto place = command.find("%s"); place != std::string::npos) command.replace(place, 2, name);
            if (scene.pod_ip(command)) story += command + "\n";
          }
        }
      }
    }
    EXPECT_TRUE(scene.detach()) << story;
    EXPECT_TRUE(scene.restore()) << story;
    scene.expect_as_before(story);
    if (HasFailure()) break;
  }
}

}  // namespace
}  // namespace cardcage::nic
