// Tests what containers get, the health of devices that they have, and that changes of /dev are seen.
#include "tests/generic/generic_fixture.h"

namespace cardcage {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class GenericClaims : public GenericFixture {
 protected:
  Result<PreparedEdits> prepared(const std::string& uid, const List& devices) {
    ModuleClaim wanted = claim_of(uid, devices, "", "");
    auto result = prepare(wanted);
    claims.push_back(wanted);
    return result;
  }
  // The last claim.
  ModuleClaim& last() { return claims.back(); }
  Status reconcile() { return run(module->call(ReconcileCall{claims}, soon())); }

  std::vector<ModuleClaim> claims;
};
INSTANTIATE_TEST_SUITE_P(Isolation, GenericClaims, ::testing::Values(Isolation::kInProcess, Isolation::kProcess),
                         name_of_isolation);

TEST_P(GenericClaims, AContainerGetsExactlyTheNode) {
  node("ttyUSB0", 188, 0);
  link("modem", "ttyUSB0");
  ASSERT_TRUE(start({"name=modem\npaths=/dev/modem\n"}));
  const auto edits = prepared("1", {"modem"});
  ASSERT_TRUE(edits) << edits.error().message;
  ASSERT_EQ(edits->allocations.at(0).device_nodes.size(), 1U);
  const DeviceNode& made = edits->allocations.at(0).device_nodes.front();
  EXPECT_EQ(made.path, "/dev/modem");
  EXPECT_EQ(made.host_path, "/dev/ttyUSB0");
  EXPECT_EQ(made.type, "c");
  EXPECT_EQ(made.major, 188);
  EXPECT_EQ(made.minor, 0);
  EXPECT_EQ(made.permissions, "rw");
  EXPECT_FALSE(made.file_mode.has_value());
  EXPECT_THAT(edits->allocations.at(0).env, IsEmpty());
  EXPECT_TRUE(unprepare(last()));
  EXPECT_TRUE(unprepare(last())) << "again";
}

TEST_P(GenericClaims, AnEntryDecidesPlaceModePermissionsAndVariables) {
  node("ttyUSB0", 188, 0);
  node("snd/pcmC0D0c", 116, 3);
  node("snd/controlC0", 116, 2);
  ASSERT_TRUE(
      start({"env=MODEM={path}\nenv=SPEED=115200\nmode=0666\nmount_path=/dev/modem\nname=modem\npaths=/dev/"
             "ttyUSB0\npermissions=r\n",
             "mount_path=/dev/sound/\nname=sound\npaths=/dev/snd/*\ntogether=true\n"}));
  const auto edits = prepared("1", {"modem", "sound"});
  ASSERT_TRUE(edits) << edits.error().message;
  const DeviceNode& modem = edits->allocations.at(0).device_nodes.at(0);
  EXPECT_EQ(modem.path, "/dev/modem");
  EXPECT_EQ(modem.permissions, "r");
  EXPECT_EQ(modem.file_mode, 0666U);
  EXPECT_THAT(edits->allocations.at(0).env, ElementsAre(EnvVar{"SPEED", "115200"}));
  EXPECT_THAT(edits->allocations.at(0).env_lists, ElementsAre(EnvVar{"MODEM", "/dev/modem"}))
      << "a container may have several devices";
  EXPECT_THAT(nodes_of(edits->allocations.at(1)),
              ElementsAre("c 116:2 /dev/sound/controlC0", "c 116:3 /dev/sound/pcmC0D0c"));
}

TEST_P(GenericClaims, RealNodesOfThisMachine) {
  roots = {.sysfs = "/sys", .procfs = "/proc", .devfs = "/dev", .driver = "/"};
  ASSERT_TRUE(start({"name=null\npaths=/dev/null\n", "count=8\nname=net\npaths=/dev/net/*\n"}));
  const auto edits = prepared("1", {"null"});
  ASSERT_TRUE(edits) << edits.error().message;
  EXPECT_THAT(nodes_of(edits->allocations.at(0)), ElementsAre("c 1:3 /dev/null"));
  if (!std::filesystem::exists("/dev/net/tun")) GTEST_SKIP() << "there is no /dev/net/tun here";
  EXPECT_THAT(attributes_of(device("net-net-tun")), ::testing::IsSupersetOf<std::string>({"major=10", "minor=200"}));
}

TEST_P(GenericClaims, ADeviceThatIsGoneIsNotPrepared) {
  node("ttyUSB0", 188, 0);
  ASSERT_TRUE(start({"name=modem\npaths=/dev/ttyUSB0\n"}));
  ModuleClaim wanted = claim_of("1", {"modem"}, "", "");
  unplug("ttyUSB0");
  const auto edits = prepare(wanted);
  ASSERT_FALSE(edits);
  EXPECT_EQ(edits.error().code, Code::kUnavailable);
  EXPECT_THAT(edits.error().message, HasSubstr("device 'modem' is gone; plug it in again, or delete the claim"));
  EXPECT_TRUE(unprepare(wanted));
}

TEST_P(GenericClaims, AHeldDeviceThatIsUnpluggedIsUnhealthyUntilItIsBack) {
  node("ttyUSB0", 188, 0);
  ASSERT_TRUE(start({"name=modem\npaths=/dev/ttyUSB0\n"}));
  ASSERT_TRUE(prepared("1", {"modem"}));
  unplug("ttyUSB0");
  EXPECT_EQ(health("modem"), "Unplugged: '/dev/ttyUSB0' is gone; plug the device in again");
  node("ttyUSB0", 188, 0);
  EXPECT_EQ(health("modem"), "ok");
  unplug("ttyUSB0");
  ASSERT_TRUE(unprepare(last()));
  EXPECT_THAT(names(), IsEmpty()) << "nothing holds it";
}

TEST_P(GenericClaims, ANodeThatIsReplacedMakesItsHoldersUnhealthy) {
  const List serial = {"name=serial\npaths=/dev/ttyUSB*\n"};
  const std::string name = "serial-0403-6001-a5-if00";
  node("ttyUSB0", 188, 0);
  usb_serial("188:0", "ttyUSB0", "A5");
  ASSERT_TRUE(start(serial));
  ASSERT_TRUE(prepared("1", {name}));
  EXPECT_EQ(health(name), "ok");
  unplug("ttyUSB0");
  node("ttyUSB1", 188, 1);
  usb_serial("188:1", "ttyUSB1", "A5");
  const std::string replaced =
      "Replaced: containers have '/dev/ttyUSB0' as c 188:0, which is c 188:1 now, '/dev/ttyUSB1'; delete the pod, so "
      "that its successor gets the new one";
  EXPECT_EQ(health(name), replaced);
  // A new instance knows the claims from their states.
  ASSERT_TRUE(run(module->stop(soon())));
  ASSERT_TRUE(start(serial));
  ASSERT_TRUE(reconcile());
  EXPECT_EQ(health(name), replaced);
  ASSERT_TRUE(unprepare(last()));
  EXPECT_EQ(health(name), "ok");
}

TEST_P(GenericClaims, ASharedDeviceStaysInUseWithItsNewNode) {
  const List serial = {"count=4\nname=serial\npaths=/dev/ttyUSB*\n"};
  const std::string name = "serial-0403-6001-a5-if00";
  node("ttyUSB0", 188, 0);
  usb_serial("188:0", "ttyUSB0", "A5");
  ASSERT_TRUE(start(serial));
  ASSERT_TRUE(prepared("1", {name}));
  unplug("ttyUSB0");
  node("ttyUSB1", 188, 1);
  usb_serial("188:1", "ttyUSB1", "A5");
  EXPECT_EQ(device(name).health.state, HealthState::kDegraded);
  EXPECT_TRUE(prepared("2", {name}));
}

class GenericWatch : public GenericClaims {
 protected:
  // Waits until the module requests discover(). Its descriptor of inotify wakes it, as in the daemon.
  [[nodiscard]] bool asks_for_discovery() {
    const int before = rescans;
    return eventually([&] {
      let_news_pass();
      settle();
      for (const std::int32_t descriptor : std::exchange(timers, {}))
        if (!run(module->call(
                EventsCall{
                    {.events = {{.type = EventType::kDescriptor, .time = {}, .text = {}, .descriptor = descriptor}}}},
                soon())))
          return false;
      return rescans > before;
    });
  }
};
INSTANTIATE_TEST_SUITE_P(Isolation, GenericWatch, ::testing::Values(Isolation::kInProcess, Isolation::kProcess),
                         name_of_isolation);

TEST_P(GenericWatch, NodesComeAndGo) {
  ASSERT_TRUE(start({"name=serial\npaths=/dev/ttyUSB*\n"}));
  EXPECT_THAT(names(), IsEmpty());
  node("ttyUSB0", 188, 0);
  ASSERT_TRUE(asks_for_discovery());
  EXPECT_THAT(names(), ElementsAre("serial-ttyusb0"));
  unplug("ttyUSB0");
  ASSERT_TRUE(asks_for_discovery());
  EXPECT_THAT(names(), IsEmpty());
}

TEST_P(GenericWatch, FoldersComeAndGoToo) {
  ASSERT_TRUE(start({"name=serial\npaths=/dev/serial/by-id/*\n"}));
  EXPECT_THAT(names(), IsEmpty());
  node("ttyUSB0", 188, 0);
  ASSERT_TRUE(asks_for_discovery());
  EXPECT_THAT(names(), IsEmpty());
  link("serial/by-id/modem", "../../ttyUSB0");
  ASSERT_TRUE(asks_for_discovery());
  EXPECT_THAT(names(), ElementsAre("serial-ttyusb0"));
  std::filesystem::remove_all(tree.devfs() / "serial");
  ASSERT_TRUE(asks_for_discovery());
  EXPECT_THAT(names(), IsEmpty());
}

TEST_P(GenericWatch, NewEntriesCountWithoutARestart) {
  node("fuse", 10, 229);
  node("kvm", 10, 232);
  ASSERT_TRUE(start({"name=fuse\npaths=/dev/fuse\n"}));
  EXPECT_THAT(names(), ElementsAre("fuse"));
  const int before = rescans;
  ASSERT_TRUE(configure({"count=10\nname=fuse\npaths=/dev/fuse\n", "name=kvm\npaths=/dev/kvm\n"}));
  EXPECT_TRUE(eventually([&] { return rescans > before; }));
  EXPECT_THAT(names(), ElementsAre("fuse", "kvm"));
  const Status wrong = configure({"name=fuse\npaths=/etc/passwd\n"});
  ASSERT_FALSE(wrong);
  EXPECT_THAT(wrong.error().message, HasSubstr("'/etc/passwd' is not a path below /dev"));
  EXPECT_THAT(names(), ElementsAre("fuse", "kvm")) << "the old entries stay";
}

}  // namespace
}  // namespace cardcage
