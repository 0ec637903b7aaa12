// Tests the example module idxd on described accelerators.
#include "tests/examples/example_fixture.h"

namespace cardcage {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::SizeIs;

class IdxdExample : public ExampleFixture {
 protected:
  IdxdExample() { std::filesystem::create_directories(tree.root() / "sys/bus/dsa/devices"); }
  Status start() { return start_module(config("libcardcage_idxd.so", {})); }

  // Writes files of a folder that the kernel lists as a device of the bus.
  void described(const std::string& place, const std::map<std::string, std::string>& files) {
    const std::filesystem::path path = std::filesystem::path("sys/devices/pci0000:6a") / place;
    for (const auto& [name, text] : files) tree.file(path / name, text + "\n");
    tree.link("sys/bus/dsa/devices/" + path.filename().native(), tree.root() / path);
  }
  // Adds an accelerator with a dedicated queue, a shared one, and one of the kernel's.
  void accelerator(const std::string& bus_id, const std::string& name, const std::string& number,
                   unsigned major_number) {
    described(bus_id + "/" + name, {{"state", "enabled"},
                                    {"cdev_major", fmt::format("{}", major_number)},
                                    {"numa_node", "1"},
                                    {"pasid_enabled", "1"}});
    const std::string queue = bus_id + "/" + name + "/wq" + number + ".";
    described(queue + "0", {{"type", "user"},
                            {"state", "enabled"},
                            {"mode", "dedicated"},
                            {"name", "copies"},
                            {"driver_name", "user"},
                            {"group_id", "0"},
                            {"size", "16"},
                            {"priority", "10"},
                            {"max_transfer_size", "2097152"},
                            {"cdev_minor", "0"}});
    described(queue + "1", {{"type", "user"}, {"state", "enabled"}, {"mode", "shared"}, {"cdev_minor", "1"}});
    described(queue + "2", {{"type", "kernel"}, {"state", "enabled"}, {"mode", "dedicated"}});
    const std::string kind = name.substr(0, 3);
    std::filesystem::create_directories(tree.devfs() / kind);
    node(kind + "/wq" + number + ".0", major_number, 0);
    node(kind + "/wq" + number + ".1", major_number, 1);
  }
  void change(const std::string& file, const std::string& text) {
    tree.file("sys/devices/pci0000:6a/0000:6a:01.0/dsa0/" + file, text + "\n");
    discover();
  }
};
INSTANTIATE_TEST_SUITE_P(Isolation, IdxdExample, ::testing::Values(Isolation::kInProcess, Isolation::kProcess),
                         name_of_isolation);

TEST_P(IdxdExample, QueuesOfUserProgramsAreDevices) {
  accelerator("0000:6a:01.0", "dsa0", "0", 510);
  accelerator("0000:6a:02.0", "iax1", "1", 511);
  ASSERT_TRUE(start());
  ASSERT_THAT(names(), SizeIs(4)) << "the queues of the kernel are left out";
  const SnapshotPtr snapshot = discover();
  const Device* const copies = snapshot->find("0000:6a:01.0-wq0");
  ASSERT_NE(copies, nullptr);
  EXPECT_EQ(copies->kind, "dsa");
  EXPECT_FALSE(copies->shared);
  EXPECT_THAT(copies->numa_nodes, ElementsAre(1));
  EXPECT_THAT(attributes_of(*copies),
              IsSupersetOf<std::string>({"path=/dev/dsa/wq0.0", "mode=dedicated", "name=copies", "driver=user",
                                         "group=0", "size=16", "priority=10", "maxTransferSize=2097152"}));
  EXPECT_EQ(copies->health.state, HealthState::kHealthy) << copies->health.message;
  const Device* const compression = snapshot->find("0000:6a:02.0-wq1");
  ASSERT_NE(compression, nullptr);
  EXPECT_EQ(compression->kind, "iax");
  EXPECT_TRUE(compression->shared);
}

TEST_P(IdxdExample, AContainerGetsTheNodeOfItsQueue) {
  accelerator("0000:6a:01.0", "dsa0", "0", 510);
  ASSERT_TRUE(start());
  ASSERT_THAT(names(), SizeIs(2));
  ModuleClaim wanted = claim_of("1", {names().front()}, "", "");
  const auto prepared = prepare(wanted);
  ASSERT_TRUE(prepared) << prepared.error().message;
  EXPECT_THAT(nodes_of(prepared->allocations.at(0)), ElementsAre("c 510:0 /dev/dsa/wq0.0"));
  EXPECT_THAT(prepared->allocations.at(0).env_lists, ElementsAre(EnvVar{"DSA_QUEUES", "/dev/dsa/wq0.0"}));
  EXPECT_TRUE(unprepare(wanted));
}

TEST_P(IdxdExample, AQueueThatCannotBeOpenedIsUnhealthyAndSaysHowToEnableIt) {
  accelerator("0000:6a:01.0", "dsa0", "0", 510);
  ASSERT_TRUE(start());
  ASSERT_THAT(names(), SizeIs(2));
  const std::string dedicated = names().front(), shared = names().back();
  EXPECT_EQ(health(dedicated), "ok");
  change("wq0.0/state", "disabled");
  EXPECT_EQ(health(dedicated),
            "QueueDisabled: dsa0/wq0.0 is disabled; enable it with 'accel-config enable-wq dsa0/wq0.0'");
  ModuleClaim wanted = claim_of("1", {dedicated}, "", "");
  const auto refused = prepare(wanted);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kUnavailable);
  EXPECT_THAT(refused.error().message, HasSubstr("dsa0/wq0.0 is disabled"));
  change("wq0.0/state", "enabled");
  change("pasid_enabled", "0");
  EXPECT_THAT(health(shared), HasSubstr("NoPasid: dsa0/wq0.1 is shared"));
  EXPECT_EQ(health(dedicated), "ok");
  std::filesystem::remove(tree.devfs() / "dsa/wq0.0");
  change("state", "halted");
  EXPECT_THAT(health(dedicated), HasSubstr("AcceleratorDisabled: dsa0 is halted"));
  change("state", "enabled");
  EXPECT_THAT(health(dedicated), HasSubstr("NoNode: /dev/dsa/wq0.0"));
}

}  // namespace
}  // namespace cardcage
