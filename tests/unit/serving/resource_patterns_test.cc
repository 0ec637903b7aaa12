// Rules whose resource takes its name from attributes of the device.
#include "host/config/plan.h"
#include "host/serving/resources.h"
#include "tests/fakes/fake_claim_host.h"
#include "tests/fakes/fake_cluster.h"
#include "tests/unit/supervision/supervisor_fixture.h"

namespace cardcage {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using namespace std::chrono_literals;
using Names = std::vector<std::string>;
using HeldNames = std::map<std::string, std::set<std::string>>;

constexpr const char *kPattern = "example.com/mig-{profile}", *kSmall = "example.com/mig-1g.5gb",
                     *kMedia = "example.com/mig-1g.5gb.me";

class NoMeter final : public CallMeter {
  void answered(KubeletCall, const std::string&, Code, Duration) override {}
};

class ResourcePatternsTest : public SupervisorFixture {
 protected:
  ResourcePatternsTest() {
    module->devices.devices = {part("a", "1g.5gb"), part("b", "1g.5gb+me"), part("c", "1g.5gb")};
  }
  ~ResourcePatternsTest() override { run(resources.stop(clock.now())); }

  static Device part(const std::string& id, const std::string& profile) {
    Device device{.id = id, .name = id, .kind = "mig"};
    if (!profile.empty()) device.attributes = {{"profile", profile}};
    return device;
  }
  static ServeConfig rule(const std::string& resource, const std::string& kind = "*") {
    ServeConfig serve{.api = Api::kDevicePlugin, .resource = resource};
    serve.select = {SelectTable{{"kind", {kind}}}};
    return serve;
  }

  // Serves rules as the daemon does after it has read them.
  void serve(std::vector<ServeConfig> rules, const HeldNames& held = {}) {
    Config wanted;
    wanted.node = config.node;
    wanted.modules = {ModuleConfig{.name = "fake"}};
    wanted.modules[0].serve = std::move(rules);
    const ConfigPlan plan = plan_change(config, wanted);
    config = wanted;
    supervisor.configure(config.modules[0], {});
    table.arrange({&supervisor}, held);
    resources.configure(plan.affected);
    look();
  }
  // Looks at the devices, as the daemon does when the module has news.
  void look() {
    settle();
    table.refresh(supervisor);
    resources.refresh(supervisor, SupervisorEvent::kList);
    settle();
  }
  void relist(std::vector<Device> devices) {
    module->devices.devices = std::move(devices);
    module->events.rescan();
    settle();
    clock.advance(20ms);
    look();
  }

  Names names() const {
    Names all;
    for (const Resource* resource : resources.all()) all.push_back(resource->name().name);
    return all;
  }
  Names listed(const std::string& name) const {
    Names ids;
    if (const Resource* resource = resources.find(name))
      for (const ListedDevice& device : *resource->list()) ids.push_back(device.id);
    return ids;
  }
  std::string resource_of(const std::string& id) const {
    for (const ServedDevice* served : table.devices())
      if (served->device.id == id) return served->served.name;
    return "(no device)";
  }
  const Supervisor* owner(const std::string& name) const { return table.supervisor({Api::kDevicePlugin, name}); }
  Result<std::unique_ptr<Ledger>> open_ledger() {
    return Ledger::open(core, clock, {.file = folder / "ledger", .intents = folder / "intents", .boot_id = "boot"});
  }

  Config config{.node = {.kubelet_root = folder.path(), .device_plugins_dir = folder / "device-plugins"}};
  FakeCluster cluster{core, clock};
  ClaimReader claims{core, clock, cluster, [](const std::string&, Instant) -> Task<bool> { co_return false; }};
  ClaimStatuses statuses{core, clock, cluster};
  std::unique_ptr<Ledger> ledger = open_ledger().value();
  CdiWriter cdi{folder / "cdi"};
  DeviceTable table{core, clock, {.name = "node-1", .roots = {.sysfs = folder / "sys"}}};
  ClientSlot<KubeletClients> kubelet{KubeletSockets::below(folder.path(), folder / "device-plugins")};
  NoMeter meter;
  FakeClaimHost host;
  Standby standby{core, clock, config};
  Resources resources{ServingContext{.core = core,
                                     .clock = clock,
                                     .config = config,
                                     .cluster = cluster,
                                     .claims = claims,
                                     .ledger = *ledger,
                                     .cdi = cdi,
                                     .table = table,
                                     .kubelet = kubelet,
                                     .meter = meter,
                                     .handed_out = [] {},
                                     .host = host,
                                     .statuses = statuses,
                                     .standby = standby,
                                     .fault = {}}};
};

TEST_F(ResourcePatternsTest, OneRuleServesAResourcePerName) {
  serve({rule(kPattern)});
  EXPECT_THAT(names(), ElementsAre(kSmall, kMedia));
  EXPECT_THAT(listed(kSmall), ElementsAre("a", "c"));
  EXPECT_THAT(listed(kMedia), ElementsAre("b"));
  EXPECT_EQ(owner(kMedia), &supervisor);
  EXPECT_EQ(owner(kPattern), nullptr);
}

TEST_F(ResourcePatternsTest, AllKeysApplyToEachName) {
  auto shared = rule(kPattern);
  shared.plugin.replicas = 2;
  serve({shared});
  EXPECT_THAT(listed(kSmall), ElementsAre("a::0", "a::1", "c::0", "c::1"));
  EXPECT_THAT(listed(kMedia), ElementsAre("b::0", "b::1"));
}

TEST_F(ResourcePatternsTest, ANameComesWithItsFirstDeviceAndOutlivesTheLast) {
  serve({rule(kPattern)});
  relist({part("a", "1g.5gb"), part("d", "7g.40gb")});
  EXPECT_THAT(names(), ElementsAre(kSmall, kMedia, "example.com/mig-7g.40gb"));
  EXPECT_THAT(listed("example.com/mig-7g.40gb"), ElementsAre("d"));
  clock.advance(3s);
  look();
  EXPECT_THAT(listed(kMedia), IsEmpty());
  EXPECT_THAT(names(), SizeIs(3)) << "the kubelet gets an empty list";
  EXPECT_EQ(owner(kMedia), &supervisor);
  EXPECT_TRUE(table.known({Api::kDevicePlugin, kMedia}));
}

TEST_F(ResourcePatternsTest, ADeviceWithoutANameIsNotServedByALaterRuleEither) {
  module->devices.devices = {part("a", "1g.5gb"), part("b", ""), part("c", "-"), part("d", std::string(60, 'x'))};
  serve({rule(kPattern, "mig"), rule("example.com/rest")});
  EXPECT_THAT(names(), ElementsAre(kSmall, "example.com/rest"));
  EXPECT_THAT(listed("example.com/rest"), IsEmpty());
  for (const char* id : {"b", "c", "d"}) EXPECT_EQ(resource_of(id), "");
}

TEST_F(ResourcePatternsTest, ARuleGivesABoundedNumberOfNames) {
  std::vector<Device> devices;
  for (int i = 0; i < 70; ++i) devices.push_back(part(fmt::format("{:02}", i), fmt::format("p{:02}", 69 - i)));
  module->devices.devices = devices;
  serve({rule(kPattern)});
  EXPECT_THAT(names(), SizeIs(64));
  EXPECT_EQ(resource_of("63"), "example.com/mig-p06");
  EXPECT_EQ(resource_of("64"), "");
  devices.push_back(part("99", "p69"));
  relist(devices);
  EXPECT_THAT(listed("example.com/mig-p69"), ElementsAre("00", "99")) << "the name exists already";
}

TEST_F(ResourcePatternsTest, OfTwoRulesForOneNameTheFirstGivesTheKeys) {
  auto first = rule(kPattern, "mig"), second = rule(kSmall);
  second.plugin.replicas = 3;
  module->devices.devices.push_back({.id = "z", .name = "z", .kind = "gpu"});
  serve({first, second});
  EXPECT_THAT(listed(kSmall), ElementsAre("a", "c", "z"));
  serve({second});
  EXPECT_THAT(listed(kSmall), SizeIs(4 * 3 + 3)) << "the old devices are about to leave";
}

TEST_F(ResourcePatternsTest, OtherRulesWithdrawTheNamesAndGiveNewOnes) {
  serve({rule(kPattern)});
  serve({rule("example.com/part-{profile}")});
  EXPECT_THAT(listed("example.com/part-1g.5gb"), ElementsAre("a", "c"));
  EXPECT_EQ(owner(kSmall), nullptr);
  EXPECT_TRUE(resources.untidy());
  clock.advance(3s);
  settle();
  run(resources.tidy());
  EXPECT_THAT(names(), ElementsAre("example.com/part-1g.5gb", "example.com/part-1g.5gb.me"));
  EXPECT_FALSE(resources.untidy());

  relist({});
  serve({rule(kPattern)});
  relist({part("a", "1g.5gb")});
  EXPECT_TRUE(resources.untidy()) << "the name was stopped before";
  run(resources.tidy());
  settle();
  EXPECT_THAT(listed(kSmall), ElementsAre("a"));
}

// After a start of the daemon the kubelet must keep count of the devices that pods have, whatever the module does.
TEST_F(ResourcePatternsTest, NamesThatPodsHoldDevicesOfNeedNoDevice) {
  module->fail<StartCall>({Code::kUnavailable, "no power"}, 100);
  serve({rule(kPattern, "mig"), rule("example.com/rest-{profile}")},
        {{"fake", {kSmall, "example.com/gone"}}, {"other", {"example.com/mig-2g"}}});
  EXPECT_THAT(names(), ElementsAre(kSmall));
  EXPECT_EQ(owner(kSmall), &supervisor);
  EXPECT_EQ(owner("example.com/mig-2g"), nullptr);
}

TEST_F(ResourcePatternsTest, AHeldNameHasTheKeysOfTheRuleThatGivesIt) {
  ServeConfig general = rule("example.com/{productName}", "gpu"), special = rule(kPattern, "mig");
  special.plugin.replicas = 2;
  serve({general, special}, {{"fake", {kSmall}}});
  EXPECT_THAT(listed(kSmall), ElementsAre("a::0", "a::1", "c::0", "c::1"));
}

TEST_F(ResourcePatternsTest, TheFirstRuleThatGivesANameCountsWheneverItBeginsTo) {
  ServeConfig first = rule(kPattern, "mig"), second = rule(kSmall, "spare");
  second.plugin.replicas = 2;
  const auto spare = [] {
    Device device = part("s", "");
    device.kind = "spare";
    return device;
  };
  module->devices.devices = {spare()};
  serve({first, second});
  EXPECT_THAT(listed(kSmall), ElementsAre("s::0", "s::1"));
  relist({spare(), part("a", "1g.5gb")});
  EXPECT_THAT(listed(kSmall), ElementsAre("a", "s", "s::0", "s::1")) << "the replicas are about to leave";
}

TEST_F(ResourcePatternsTest, AResourceHasOnlyTheDevicesOfTheFirstModule) {
  const auto second = std::make_shared<FakeModule>(core);
  second->devices.devices = {part("x", "1g.5gb"), part("y", "2g.10gb")};
  ModuleConfig other{.name = "other"};
  other.serve = {rule("example.com/{kind_of}-{profile}")};
  for (Device& device : second->devices.devices) device.attributes["kind_of"] = std::string("mig");
  Supervisor late{other,
                  {},
                  {.stage = [this](const ModuleConfig&, Instant, Leftover&) { return stage(); },
                   .load = [second](const ModuleConfig&, ModuleBuild, Instant,
                                    Leftover&) -> Task<Result<std::shared_ptr<Module>>> { co_return second; }},
                  core,
                  clock,
                  marks,
                  records,
                  {.changed = [](const Supervisor&, SupervisorEvent) {},
                   .live_claims = [](const std::string&) { return std::vector<ModuleClaim>(); },
                   .sources = &sources,
                   .stuck = [](const std::string&, const std::string&) { return std::optional<CauseHealth>(); }}};
  spawn(core, late.run());
  ModuleConfig first{.name = "fake"};
  first.serve = {rule(kPattern)};
  config.modules = {first, other};
  supervisor.configure(first, {});
  settle();
  table.arrange({&supervisor, &late});
  resources.configure({});
  settle();
  EXPECT_THAT(listed(kSmall), ElementsAre("a", "c"));
  EXPECT_THAT(listed("example.com/mig-2g.10gb"), ElementsAre("y"));
  EXPECT_FALSE(table.locate_id(kSmall, "x"));

  supervisor.drain("it was removed from the configuration");
  table.arrange({&supervisor, &late});
  EXPECT_EQ(owner(kSmall), &late);
  EXPECT_TRUE(table.locate_id(kSmall, "x"));
  EXPECT_TRUE(table.locate_id(kSmall, "a")) << "a pod may have it";
  table.arrange({});
  run(late.stop());
}

}  // namespace
}  // namespace cardcage
