// Types reach a worker and the host unchanged.
#include "host/wire/messages.h"

#include <gmock/gmock.h>

#include <limits>

#include "tests/fakes/every_trait.h"
#include "tests/unit/wire/bytes.h"

namespace cardcage {
namespace {

template <class Message>
Message sent(const Message& message) {
  Message arrived;
  EXPECT_TRUE(arrived.ParseFromString(message.SerializeAsString()));
  return arrived;
}

TEST(WireTest, ADeviceWithEveryKindOfAttribute) {
  Device device{every_trait(),
                "gpu-0",
                "gpu-0",
                "gpu",
                "card-0",
                "0000:3b:00.0",
                {-1, 0, 3},
                {HealthState::kUnmonitored, "TooHot", "93 degrees", std::chrono::seconds(30), TaintEffect::kInform,
                 "Thermal", "example.com/hot", "93", 93.5}};
  device.attributes["bytes"] = kBytes;
  device.attributes["none"] = std::vector<std::int64_t>{};
  device.policies["open"] = {.default_amount = Quantity{0}, .min = Quantity{0}};
  wire::Device message;
  write(device, message);
  EXPECT_EQ(*read(sent(message)), device);
  message.mutable_attributes(0)->set_kind(99);
  EXPECT_EQ(read(message).error().code, Code::kDataLoss);
}

TEST(WireTest, UnknownHealthNumbersBecomeTheWorstKnown) {
  wire::Health message;
  message.set_state(200);
  message.set_taint(200);
  EXPECT_EQ(read(message).state, HealthState::kUnhealthy);
  EXPECT_EQ(read(message).taint, TaintEffect::kNoExecute);
}

TEST(WireTest, AValueThatIsNotFiniteIsNone) {
  wire::Health message;
  EXPECT_EQ(read(message).value, std::nullopt);
  message.set_value(0);
  EXPECT_EQ(read(message).value, 0);
  for (const double value : {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    message.set_value(value);
    EXPECT_EQ(read(message).value, std::nullopt) << value;
  }
}

ModuleIdentity with_causes() {
  ModuleIdentity identity;
  identity.families.add(Family::kReset);
  identity.families.add(Family::kBind);
  identity.causes = {{.name = "Temperature",
                      .help = "the hottest sensor",
                      .unit = "Cel",
                      .limit = ValueLimit{ValueLimit::Side::kAbove, 95, 90.5},
                      .severity = HealthState::kDegraded,
                      .hold_down = std::chrono::seconds(30)},
                     {.name = "Power",
                      .help = "the input",
                      .unit = "W",
                      .limit = ValueLimit{ValueLimit::Side::kBelow, 20, 30},
                      .severity = HealthState::kUnhealthy},
                     {.name = "Xid",
                      .help = "the driver reported an error",
                      .event = true,
                      .recovery = Recovery::kSilence,
                      .recovery_time = std::chrono::hours(1),
                      .relapses = 3,
                      .window = std::chrono::hours(24),
                      .taint = {TaintEffect::kNoExecute, "example.com/xid", "seen"}}};
  return identity;
}

TEST(WireTest, DeclaredCausesArrive) {
  wire::Identity message;
  write(with_causes(), message);
  const ModuleIdentity read_back = read(sent(message));
  EXPECT_TRUE(read_back.has(Family::kReset));
  EXPECT_TRUE(read_back.has(Family::kBind));
  EXPECT_EQ(read_back.causes, with_causes().causes);
}

TEST(WireTest, CausesOfAHostileWorkerAreNone) {
  const auto causes_after = [](const std::function<void(wire::Identity&)>& change) {
    wire::Identity message;
    write(with_causes(), message);
    change(message);
    return read(message).causes;
  };
  EXPECT_TRUE(causes_after([](auto& all) { all.mutable_causes(0)->set_name("two\nlines"); }).empty());
  EXPECT_TRUE(causes_after([](auto& all) { all.mutable_causes(1)->set_name("Temperature"); }).empty());
  EXPECT_TRUE(causes_after([](auto& all) { all.mutable_causes(0)->mutable_limit()->set_clear(96); }).empty());
  EXPECT_TRUE(causes_after([](auto& all) {
                all.mutable_causes(2)->set_window_seconds(std::numeric_limits<std::int64_t>::max());
              }).empty());
  EXPECT_TRUE(causes_after([](auto& all) {
                for (int i = 0; i < 64; ++i) {
                  *all.add_causes() = all.causes(0);
                  all.mutable_causes(i + 3)->set_name(fmt::format("Cause{}", i));
                }
              }).empty());
  EXPECT_EQ(causes_after([](auto& all) { all.mutable_causes(2)->set_recovery(99); })[2].recovery, Recovery::kOperator);
}

TEST(WireTest, ATimeoutOfHealthIsBoundedAsInModules) {
  wire::Health message;
  message.set_timeout_seconds(std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(read(message).timeout, std::chrono::days(1));
  message.set_timeout_seconds(-1);
  EXPECT_EQ(read(message).timeout, std::chrono::seconds(0));
}

TEST(WireTest, LinesOfAHealthMessageAreKept) {
  wire::Health message;
  message.set_message("the link is down\nreplug \x1b the cable");
  EXPECT_EQ(read(message).message, "the link is down\nreplug ? the cable");
}

TEST(WireTest, AClaimWithParametersAndState) {
  ModuleClaim claim;
  claim.ref = {"ns", "c", "uid-1"};
  claim.allocations.push_back({.device_id = "gpu-0",
                               .request = "main/sub",
                               .share_id = "share",
                               .admin_access = true,
                               .consumed_capacity = {{"memory", {4, 0, {}}}},
                               .values = {{{"n", {std::int64_t{1}, true}},
                                           {"t", {std::string("x"), false}},
                                           {"f", {true, true}},
                                           {"l", {std::vector<std::string>{"a", "b"}, true, ConfigSource::kClass}},
                                           {"m.n", {TextMap{{"k", "v"}}, true, ConfigSource::kClaim}}},
                                          "GpuConfig"}});
  claim.params.push_back({.source = ConfigSource::kClaim, .requests = {"main"}, .json = "{}"});
  claim.params.push_back({.source = ConfigSource::kClass, .requests = {}, .json = "{\"a\":1}"});
  claim.state = kBytes;
  claim.state_version = 3;
  claim.journal = kBytes + kBytes;
  claim.other_boot = true;
  wire::Claim message;
  write(claim, message);
  EXPECT_EQ(read(sent(message)), claim);
}

TEST(WireTest, EditsWithAndWithoutTheirOptionalParts) {
  PreparedEdits edits;
  edits.claim.env = {{"A", kBytes}};
  edits.claim.device_nodes = {{"/dev/a", "/dev/b", "c", "rw", 1, 0, 0660, 0, 5},
                              {"/dev/c", "", "", "", {}, {}, {}, {}, {}}};
  edits.claim.mounts = {{"/h", "/c", "bind", {"ro"}}};
  edits.claim.hooks = {{"createRuntime", "/bin/x", {"a"}, {"B=c"}, 3}, {"poststop", "/bin/y", {}, {}, {}}};
  edits.claim.net_devices = {{"eth1", "net0"}};
  edits.claim.additional_gids = {44};
  edits.claim.locked_memory = {~std::uint64_t{}};
  edits.claim.ld_paths = {{"/usr/lib64", ""}, {"/compat", "libcuda.so.580"}};
  edits.claim.proc_texts = {{"/proc/driver/x", "a: 1\n"}};
  edits.allocations.resize(2);
  edits.allocations[1].env = {{"C", "d"}};
  edits.state = kBytes;
  edits.state_version = 9;
  edits.statements.resize(2);
  edits.statements[1] = {.conditions = {{"Ready", DeviceCondition::Status::kTrue, "Up", kBytes, {}}},
                         .data = "{}",
                         .network = NetworkData{"net1", {"10.1.2.3/24"}, "02:00"},
                         .metadata = Attributes{{"model", std::string("X1")}}};
  wire::PreparedEdits message;
  write(edits, message);
  EXPECT_EQ(read(sent(message)), edits);
}

TEST(WireTest, AConditionOfAnUnknownStatusIsUnknown) {
  wire::DeviceCondition message;
  message.set_status(77);
  EXPECT_EQ(read(message).status, DeviceCondition::Status::kUnknown);
}

TEST(WireTest, ADescriptionMayBeEmpty) {
  wire::DeviceStatement message;
  write(DeviceStatement{.metadata = Attributes()}, message);
  EXPECT_EQ(read(sent(message)).metadata, Attributes());
  EXPECT_FALSE(read(wire::DeviceStatement()).metadata);
}

TEST(WireTest, AnIdentityWithItsDeclarations) {
  ModuleIdentity identity;
  identity.id = "com.example.x";
  identity.version = "1.0.0";
  identity.vendor = "Example";
  identity.abi = {0, 3};
  identity.state_version = 7;
  identity.process_only = identity.no_prepare = identity.has_check = true;
  identity.families.add(Family::kPreferred);
  identity.options = {{.name = "o",
                       .type = OptionType::kDuration,
                       .required = true,
                       .secret = true,
                       .live = true,
                       .default_text = "3s",
                       .help = "what",
                       .choices = {"a", "b"},
                       .min = -1,
                       .max = 5}};
  identity.schemas = {
      {.api_version = "v1",
       .kind = "K",
       .fields = {{.name = "p.q", .type = OptionType::kMap, .class_only = true, .quantity = true, .objects = true}},
       .device_kinds = {"gpu", "nic"},
       .raw = true,
       .whole = true,
       .is_default = true}};
  identity.metrics = {{MetricType::kCounter, "errors_total", "since the reset", {"link"}},
                      {MetricType::kGauge, "DCGM_FI_DEV_GPU_TEMP", "of the core", {"UUID", "modelName"}}};
  identity.watch = {.kernel_log = {"NVRM: Xid"}, .uevents = {"pci"}};
  wire::Identity message;
  write(identity, message);
  message.mutable_watch()->add_kernel_log("");  // would match every message
  for (int i = 0; i < 100; ++i) message.mutable_watch()->add_uevents("net");
  const ModuleIdentity back = read(sent(message));
  ASSERT_TRUE(back.watch);
  EXPECT_EQ(back.watch->kernel_log, identity.watch->kernel_log);
  EXPECT_EQ(back.watch->uevents.size(), kMaxWatched);
  EXPECT_EQ(back.id, identity.id);
  EXPECT_EQ(back.vendor, "Example");
  EXPECT_EQ(back.state_version, 7u);
  EXPECT_TRUE(back.process_only && back.no_prepare && back.has_check && back.has(Family::kPreferred));
  EXPECT_FALSE(back.concurrent || back.has_quiesce || back.has(Family::kPreStart) || back.has(Family::kReconcile));
  ASSERT_EQ(back.options.size(), 1u);
  EXPECT_EQ(back.options[0].choices, identity.options[0].choices);
  EXPECT_EQ(back.options[0].type, OptionType::kDuration);
  EXPECT_EQ(back.options[0].min, -1);
  EXPECT_EQ(back.metrics, identity.metrics);
  ASSERT_EQ(back.schemas.size(), 1u);
  EXPECT_EQ(back.schemas[0].api_version, "v1");
  EXPECT_EQ(back.schemas[0].kind, "K");
  EXPECT_EQ(back.schemas[0].device_kinds, identity.schemas[0].device_kinds);
  EXPECT_TRUE(back.schemas[0].raw);
  ASSERT_EQ(back.schemas[0].fields.size(), 1u);
  EXPECT_EQ(back.schemas[0].fields[0].name, "p.q");
  EXPECT_EQ(back.schemas[0].fields[0].type, OptionType::kMap);
  EXPECT_TRUE(back.schemas[0].fields[0].class_only);
  EXPECT_TRUE(back.schemas[0].fields[0].quantity);
  EXPECT_TRUE(back.schemas[0].fields[0].objects);
  EXPECT_TRUE(back.schemas[0].whole);
  EXPECT_TRUE(back.schemas[0].is_default);
}

TEST(WireTest, AWorkerWithAMetricNameThatWouldSpoilThePageHasNoMetrics) {
  for (const std::string name : {"Heat", "CARDCAGE_heat", "heat\n", "", "fine", "ALERTS"}) {
    wire::Identity message;
    message.add_metrics()->set_name("fine");
    message.add_metrics()->set_name(name);
    EXPECT_THAT(read(message).metrics, testing::IsEmpty()) << name;
  }
  wire::Identity message;
  FamilySet families;
  families.add(Family::kMetrics);
  message.set_families(families.bits());
  message.add_metrics()->set_name("fine");
  message.mutable_metrics(0)->add_labels("a-b");
  EXPECT_THAT(read(message).metrics, testing::IsEmpty());
  EXPECT_FALSE(read(message).has(Family::kMetrics));
  message.mutable_metrics(0)->set_labels(0, "namespace");
  EXPECT_THAT(read(message).metrics, testing::IsEmpty()) << "the host adds this label";
  message.mutable_metrics(0)->set_labels(0, "link");
  EXPECT_THAT(read(message).metrics, testing::SizeIs(1));
  EXPECT_TRUE(read(message).has(Family::kMetrics));
  message.mutable_metrics(0)->add_labels("link");
  EXPECT_THAT(read(message).metrics, testing::IsEmpty()) << "twice";
}

}  // namespace
}  // namespace cardcage
