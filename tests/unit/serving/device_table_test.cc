#include "host/serving/device_table.h"

#include "tests/unit/supervision/supervisor_fixture.h"

namespace cardcage {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Key;
using namespace std::chrono_literals;

const ServedName kGpus{Api::kDra, "gpu.example.com"};

// Whole devices and partitions of one module are in two pools of a driver.
class DeviceTableTest : public SupervisorFixture {
 protected:
  DeviceTableTest() {
    const auto rule = [](const std::string& pool, const std::string& kind) {
      ServeConfig serve{.driver = kGpus.name, .pool = pool};
      serve.select = {SelectTable{{"kind", {kind}}}};
      return serve;
    };
    ModuleConfig config{.name = "fake"};
    config.serve = {rule("whole", "gpu"), rule("parts", "part")};
    supervisor.configure(std::move(config), {});
    Device part{.id = "part-0", .name = "part-0", .kind = "part", .parent_id = "gpu-0"};
    part.consumes = {{"card-1", {{"slots", Quantity{.value = 1}}}}};
    module->devices.devices.push_back(std::move(part));
    module->devices.devices[0].attributes["model"] = std::string("A1");
    module->devices.devices[0].consumes = {{"card-0", {{"slots", Quantity{.value = 4}}}}};
    for (const char* set : {"card-0", "card-1", "card-2"})
      module->devices.counter_sets[set]["slots"] = Quantity{.value = 4};
    settle();
    table.arrange({&supervisor});
  }

  DeviceTable table{core, clock, {.name = "node-1", .roots = {.sysfs = folder / "sys"}}};
};

TEST_F(DeviceTableTest, APoolHasTheCounterSetsThatItsDevicesConsume) {
  const auto pools = table.pools(kGpus);
  ASSERT_THAT(pools, ElementsAre(Key("parts"), Key("whole")));
  EXPECT_THAT(pools.at("whole")->counters, ElementsAre(Key("card-0")));
  EXPECT_THAT(pools.at("parts")->counters, ElementsAre(Key("card-1")));
}

TEST_F(DeviceTableTest, TellsWhetherAPoolNeedsPrepare) {
  EXPECT_FALSE(table.pools(kGpus).at("whole")->no_prepare);
  module->about.no_prepare = true;  // the next build
  module->events.lost({Code::kUnavailable, "killed by signal 9"});
  settle();
  clock.advance(1s);
  settle();
  EXPECT_TRUE(table.pools(kGpus).at("whole")->no_prepare);
}

TEST_F(DeviceTableTest, KeepsTheAttributesOfADeviceOnce) {
  const auto pools = table.pools(kGpus);
  const Device& listed = supervisor.snapshot()->devices[0];
  ASSERT_EQ(pools.at("whole")->devices[0].name, listed.name);
  EXPECT_EQ(&pools.at("whole")->devices[0].attributes.at("model"), &listed.attributes.at("model"));
}

TEST_F(DeviceTableTest, AddsTheAttributesOfTheOperator) {
  ModuleConfig config{.name = "fake"};
  ServeConfig serve{.driver = kGpus.name, .pool = "all"};
  serve.select = {SelectTable{{"attributes.example.com/rail", {std::int64_t{3}}}}};
  config.serve = {serve};
  config.attributes = {{"example.com/rail", std::int64_t{3}, {SelectTable{{"id", {"gpu-0"}}}}},
                       {"example.com/tested", true, {SelectTable{{"attributes.model", {"A1"}}}}},
                       {"example.com/room", "north", Select(1)},
                       {"model", "A2", {SelectTable{{"attributes.example.com/rail", {std::int64_t{3}}}}}}};
  supervisor.configure(std::move(config), {});
  settle();
  table.arrange({&supervisor});
  const auto pools = table.pools(kGpus);
  ASSERT_EQ(pools.at("all")->devices.size(), 1u) << "a rule may select by them";
  const Attributes& attributes = pools.at("all")->devices[0].attributes;
  EXPECT_EQ(attributes.at("example.com/rail"), AttributeValue(std::int64_t{3}));
  EXPECT_EQ(attributes.at("example.com/tested"), AttributeValue(true));
  EXPECT_EQ(attributes.at("example.com/room"), AttributeValue(std::string("north")));
  EXPECT_EQ(attributes.at("model"), AttributeValue(std::string("A2"))) << "the module may be wrong";
}

TEST_F(DeviceTableTest, AnAttributeThatADeviceHasNoRoomForIsLeftOut) {
  ModuleConfig config{.name = "fake"};
  config.serve = {{.driver = kGpus.name, .pool = "all"}};
  for (int i = 0; i < 40; ++i) config.attributes.push_back({fmt::format("example.com/a{:02}", i), true, Select(1)});
  supervisor.configure(std::move(config), {});
  settle();
  table.arrange({&supervisor});
  const auto pools = table.pools(kGpus);
  const SliceDevice& first = pools.at("all")->devices[0];
  EXPECT_EQ(first.attributes.size() + first.capacity.size(), 32u);
  EXPECT_TRUE(first.attributes.contains("model"));
  EXPECT_FALSE(first.attributes.contains("example.com/a39"));
}

TEST_F(DeviceTableTest, AStuckDeviceIsPublishedWithATaint) {
  stuck["gpu-0"] = {
      {.state = HealthState::kUnhealthy, .reason = "Stuck", .taint = TaintEffect::kNoSchedule, .cause = "Stuck"},
      clock.wall()};
  supervisor.stuck_changed();
  settle();
  table.refresh(supervisor);
  const auto pools = table.pools(kGpus);
  ASSERT_EQ(pools.at("whole")->devices[0].taints.size(), 1u);
  EXPECT_EQ(pools.at("whole")->devices[0].taints[0].value, "Stuck");
  EXPECT_EQ(pools.at("whole")->devices[0].taints[0].effect, "NoSchedule");
  EXPECT_EQ(pools.at("parts")->devices[0].taints.size(), 1u) << "it is a part of the device";
}

TEST_F(DeviceTableTest, FindsTheDevicesOfAModuleThatIsAway) {
  module->events.lost({Code::kUnavailable, "killed by signal 9"});
  settle();
  const auto located = table.locate(kGpus.name, "whole", "gpu-0");
  ASSERT_TRUE(located);
  EXPECT_EQ(located->module, "fake");
  EXPECT_FALSE(table.module("fake"));
  ASSERT_TRUE(table.snapshot("fake"));
  EXPECT_EQ(table.snapshot("other"), nullptr);
}

TEST_F(DeviceTableTest, ARuleThatTakesNoDeviceIsReportedWithItsPlace) {
  EXPECT_THAT(table.problems(), IsEmpty());
  ModuleConfig config = supervisor.config();
  ServeConfig idle{.driver = kGpus.name, .pool = "none", .position = {"cardcage.toml", 12, 3}};
  idle.select = {SelectTable{{"kind", {"gpus"}}}};
  ServeConfig shadowed{.driver = kGpus.name, .pool = "none", .position = {"cardcage.toml", 16, 3}};
  config.serve.insert(config.serve.begin(), idle);
  config.serve.push_back(shadowed);
  supervisor.configure(std::move(config), {});
  table.arrange({&supervisor});
  EXPECT_THAT(table.problems(),
              ElementsAre("cardcage.toml:12:3: select matches no device of module 'fake'",
                          "cardcage.toml:16:3: the rules before this one take every device of module 'fake' that it "
                          "selects"));
}

// Adds a second module beside the first.
class SharedHardwareTest : public DeviceTableTest {
 protected:
  SharedHardwareTest() { twin->about.id = "com.example.twin"; }
  ~SharedHardwareTest() override { run(second.stop()); }
  void offer(Device device) {
    twin->devices.devices = {std::move(device)};
    spawn(core, second.run());
    settle();
    table.arrange({&supervisor, &second});
  }

  std::shared_ptr<FakeModule> twin = std::make_shared<FakeModule>(core);
  static ModuleConfig config() {
    ModuleConfig config{.name = "twin"};
    config.serve = {{.driver = "twin.example.com"}};
    return config;
  }
  Supervisor second{config(),
                    {},
                    {.stage = [this](const ModuleConfig&, Instant, Leftover&) { return stage(); },
                     .load = [this](const ModuleConfig&, ModuleBuild, Instant, Leftover&) { return loaded(); }},
                    core,
                    clock,
                    marks,
                    records,
                    {.changed = [](const Supervisor&, SupervisorEvent) {},
                     .live_claims = [](const std::string&) { return std::vector<ModuleClaim>(); }}};

 private:
  Task<Result<std::shared_ptr<Module>>> loaded() { co_return twin; }
};

TEST_F(SharedHardwareTest, DevicesWithOneAddressAreReported) {
  module->devices.devices[0].pci_bus_id = "0000:3b:00.0";
  module->events.rescan();
  settle();
  clock.advance(1s);
  settle();
  offer(Device{.id = "vf-0", .name = "vf-0", .kind = "nic", .pci_bus_id = "0000:3b:00.0"});
  ASSERT_EQ(table.problems().size(), 1u);
  EXPECT_EQ(table.problems()[0],
            "device 'gpu-0' of module 'fake' and device 'vf-0' of module 'twin' are one piece of hardware (PCI address "
            "0000:3b:00.0), which two pods may get at once: let 'select' of one of the two modules leave it out");
}

TEST_F(SharedHardwareTest, OneIdInTwoModulesOfOneKindIsReported) {
  twin->about.id = module->about.id;
  offer(Device{.id = "gpu-0", .name = "gpu-0", .kind = "gpu"});
  ASSERT_EQ(table.problems().size(), 1u);
}

TEST_F(SharedHardwareTest, OtherIdsOfModulesOfOneKindAreOtherHardware) {
  twin->about.id = module->about.id;
  module->devices.devices[0].pci_bus_id = "4d00:01:00.0";
  module->events.rescan();
  settle();
  clock.advance(1s);
  settle();
  offer(Device{.id = "nic-0", .name = "nic-0", .kind = "nic", .pci_bus_id = "4d00:01:00.0"});
  EXPECT_THAT(table.problems(), IsEmpty());
}

TEST_F(SharedHardwareTest, OneIdInModulesOfDifferentKindsIsFine) {
  offer(Device{.id = "gpu-0", .name = "gpu-0", .kind = "nic"});
  EXPECT_THAT(table.problems(), IsEmpty());
}

TEST_F(DeviceTableTest, WaitsForAModuleThatMayReturnInTime) {
  module->events.lost({Code::kUnavailable, "killed by signal 9"});
  settle();
  bool in_time = false, too_early = false;
  const auto wait = [this](Duration limit, bool& done) -> Task<void> {
    co_await table.returned("fake", clock.now() + limit);
    done = true;
  };
  spawn(core, wait(10s, in_time));
  spawn(core, wait(500ms, too_early));
  settle();
  EXPECT_TRUE(too_early) << "the module is retried later";
  EXPECT_FALSE(in_time);
  clock.advance(1s);
  settle();
  table.refresh(supervisor);
  settle();
  EXPECT_TRUE(in_time);
  EXPECT_TRUE(table.module("fake"));
}

}  // namespace
}  // namespace cardcage
