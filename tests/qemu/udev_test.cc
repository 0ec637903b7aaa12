// Tests the NIC module beside systemd-udevd of Debian 12, whose link policy names every new interface, and gives it
// alternative names and an address.
#include "tests/qemu/nic_machine.h"

namespace cardcage {
namespace {

using ::testing::HasSubstr;

constexpr const char* kNames = "ens1v0\naltname enp1s0v0\n";

// A rule of the node, which udev follows during the lifetime of this object.
class UdevRule {
 public:
  explicit UdevRule(const std::string& rule) {
    std::filesystem::create_directories(kFile.parent_path());
    write_to(kFile, rule + "\n");
    EXPECT_TRUE(succeeds("udevadm control --reload"));
  }
  UdevRule(const UdevRule&) = delete;
  UdevRule& operator=(const UdevRule&) = delete;
  ~UdevRule() {
    std::filesystem::remove(kFile);
    EXPECT_TRUE(succeeds("udevadm control --reload"));
  }

 private:
  const std::filesystem::path kFile = "/run/udev/rules.d/90-test.rules";
};

// Delays udev after it has computed the names of an interface, and before it applies them.
constexpr const char* kSlowly = R"(ACTION=="add", SUBSYSTEM=="net", PROGRAM="/bin/sleep 1")";

class UdevMachine : public NicMachine {
 protected:
  void SetUp() override {
    NicMachine::SetUp();
    ASSERT_EQ(names_of(kFirst), kNames) << "as 99-default.link of Debian says";
    mac_ = mac();
  }
  static std::string mac() { return output_of("cat /sys/class/net/" + interface_of(kFirst) + "/address"); }
  void expect_names(const std::string& names, const std::string& about = {}) {
    ASSERT_TRUE(begins([] { return !interface_of(kFirst).empty(); })) << about;
    ASSERT_TRUE(udev_is_done());
    EXPECT_EQ(names_of(kFirst), names) << about;
    EXPECT_EQ(mac(), mac_) << about;
  }
  // Returns a prepared claim with an interface net1.
  ModuleClaim prepared(const std::string& uid) {
    ModuleClaim claim = claim_of(uid, kFirstName, R"("interface":{"name":"net1"})");
    const auto edits = kept(run(preparing(claim, patiently())), claim);
    EXPECT_TRUE(edits) << edits.error().message;
    return claim;
  }
  void move_in(ModuleClaim& claim, const PodNamespace& pod) {
    const Status attached = run(module->call(AttachCall{claim, pod.pod()}, soon()));
    ASSERT_TRUE(attached) << attached.error().message;
    EXPECT_TRUE(pod.ip("link show net1"));
  }
  void move_out(ModuleClaim& claim, const PodNamespace& pod) {
    const Status detached = run(module->call(DetachCall{claim, pod.pod()}, soon()));
    ASSERT_TRUE(detached) << detached.error().message;
  }
  void release(const ModuleClaim& claim) {
    const Status released = run(module->call(UnprepareCall{claim}, patiently()));
    ASSERT_TRUE(released) << released.error().message;
  }
  // Recreates the interface under a name of the kernel, which udev changes.
  static void bind_anew() {
    for (const char* step : {"unbind", "bind"})
      write_to(std::filesystem::path("/sys/bus/pci/drivers/igbvf") / step, kFirst);
  }

  std::string mac_;
};
INSTANTIATE_TEST_SUITE_P(Isolation, UdevMachine, ::testing::Values(Isolation::kProcess), name_of_isolation);

TEST_P(UdevMachine, AVirtualFunctionComesBackUnderItsNames) {
  for (const bool is_reset : {true, false}) {
    if (!is_reset) {
      let_go();
      start({});
    }
    for (const bool by_itself : {false, true}) {
      PodNamespace pod;
      ModuleClaim claim = prepared("u1");
      move_in(claim, pod);
      if (by_itself) {
        pod.end();
      } else {
        move_out(claim, pod);
        expect_names(kNames, "detached");
      }
      release(claim);
      expect_names(kNames, "released");
    }
  }
}

TEST_P(UdevMachine, AVirtualFunctionHasItsNamesAgainAfterVfio) {
  ModuleClaim claim = claim_of("u1", kFirstName, R"("mode":"Vfio")");
  const auto edits = kept(run(preparing(claim, patiently())), claim);
  ASSERT_TRUE(edits) << edits.error().message;
  ASSERT_EQ(driver_of(kFirst), "vfio-pci");
  release(claim);
  expect_names(kNames);
}

TEST_P(UdevMachine, AnInterfaceThatUdevHasNotNamedYetIsKeptUnderTheNameThatItGets) {
  {
    const UdevRule slowly(kSlowly);
    bind_anew();
    ASSERT_THAT(interface_of(kFirst), HasSubstr("eth"));
    ModuleClaim claim = claim_of("u1", kFirstName);
    const auto edits = kept(run(preparing(claim, patiently())), claim);
    ASSERT_TRUE(edits) << edits.error().message;
    ASSERT_TRUE(edits->statements.at(0).network);
    EXPECT_EQ(edits->statements.at(0).network->interface_name, "ens1v0");
    const PodNamespace pod;
    const Status attached = run(module->call(AttachCall{claim, pod.pod()}, soon()));
    ASSERT_TRUE(attached) << attached.error().message;
    EXPECT_TRUE(pod.ip("link show ens1v0"));
    move_out(claim, pod);
    release(claim);
  }
  expect_names(kNames);
}

// udev respects the name of an administrator as long as the interface is the same.
TEST_P(UdevMachine, AnotherNameSurvivesTheReset) {
  ASSERT_TRUE(succeeds("ip link set ens1v0 name rack3"));
  ASSERT_TRUE(udev_is_done());
  const std::string names = names_of(kFirst);
  EXPECT_THAT(names, HasSubstr("altname ens1v0")) << "udev's name is an alternative one then";
  const UdevRule slowly(kSlowly);
  const ModuleClaim claim = prepared("u1");
  release(claim);
  expect_names(names);
}

TEST_P(UdevMachine, ARenameByUdevWhileAClaimHoldsTheInterfaceHolds) {
  const UdevRule rule(R"(ACTION=="add", SUBSYSTEM=="net", ENV{ID_PATH}=="pci-0000:01:10.0", NAME="rack3")");
  ModuleClaim claim = prepared("u1");
  ASSERT_TRUE(succeeds("udevadm trigger --action=add /sys/class/net/ens1v0") && udev_is_done());
  ASSERT_EQ(interface_of(kFirst), "rack3");
  const std::string names = names_of(kFirst);
  for (const char* about : {"first", "second"}) {
    const PodNamespace pod;
    move_in(claim, pod);
    move_out(claim, pod);
    expect_names(names, about);
  }
  release(claim);
  expect_names(names, "released");
}

TEST_P(UdevMachine, NamesComeBackThoughUdevHearsOfTheMoveAfterIt) {
  ASSERT_TRUE(succeeds("udevadm control --stop-exec-queue"));
  for (int round = 0; round < 2; ++round) {
    const PodNamespace pod;
    ModuleClaim claim = prepared("u1");
    move_in(claim, pod);
    move_out(claim, pod);
  }
  ASSERT_TRUE(succeeds("udevadm control --start-exec-queue"));
  expect_names(kNames);
}

// udev adds names while the interface moves.
TEST_P(UdevMachine, NamesComeBackWhileUdevIsBusyWithTheInterface) {
  ModuleClaim claim = prepared("u1");
  for (int round = 0; round < 4; ++round) {
    const std::string about = "round " + std::to_string(round);
    const PodNamespace pod;
    ASSERT_TRUE(succeeds("udevadm trigger --action=add /sys/class/net/ens1v0")) << about;
    move_in(claim, pod);
    move_out(claim, pod);
    ASSERT_TRUE(succeeds("udevadm trigger --action=add /sys/class/net/ens1v0")) << about;
    if (round % 2 == 1) expect_names(kNames, about);
  }
}

}  // namespace
}  // namespace cardcage
