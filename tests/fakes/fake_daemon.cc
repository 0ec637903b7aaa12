#include "tests/fakes/fake_daemon.h"

#include "tests/fakes/every_trait.h"

namespace cardcage {
namespace {

using namespace std::chrono_literals;

const WallTime kNow{std::chrono::seconds(1'800'000'000)};  // 2027-01-15T08:00:00Z
const Condition kReady{Level::kGood, "ready", ""};
constexpr const char* kWhyAway = "module 'nic' does not start: the driver 'mlx5_core' is not loaded";
const Condition kRegistered{Level::kGood, "registered", ""};

ModuleReport mock_module() {
  ModuleIdentity identity;
  identity.id = "dev.cardcage.mock";
  identity.version = "0.1.0";
  identity.vendor = "Cardcage";
  identity.abi = {1, 0};
  identity.sha256 = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
  identity.options = {
      {.name = "devices",
       .type = OptionType::kInteger,
       .default_text = "2",
       .help = "how many devices there are",
       .min = 0,
       .max = 64},
      {.name = "mode",
       .type = OptionType::kString,
       .live = true,
       .default_text = "shared",
       .help = "how devices are handed out",
       .choices = {"shared", "exclusive"}},
      {.name = "token", .type = OptionType::kString, .required = true, .secret = true, .help = "licence"},
      {.name = "settle", .type = OptionType::kDuration, .default_text = "250ms", .help = "after a reset"},
      {.name = "links", .type = OptionType::kList, .help = "which links to use"}};
  identity.schemas = {
      {.api_version = "gpu.example.com/v1",
       .kind = "CardConfig",
       .fields = {{.name = "profile", .type = OptionType::kString, .help = "memory profile"}}},
      {.api_version = "gpu.example.com/v1",
       .kind = "GpuConfig",
       .fields = {{.name = "sharing.strategy",
                   .type = OptionType::kString,
                   .default_text = "exclusive",
                   .help = "how pods share it",
                   .choices = {"exclusive", "timeSlicing"}},
                  {.name = "sharing.memoryLimits", .type = OptionType::kMap, .help = "by container", .max = 8},
                  {.name = "clocks.maxMhz",
                   .type = OptionType::kInteger,
                   .class_only = true,
                   .help = "limit of the clock",
                   .max = 5000}},
       .device_kinds = {"gpu"}}};
  identity.metrics = {{.name = "temperature_celsius", .help = "of the hottest sensor"},
                      {.name = "DCGM_FI_DEV_GPU_TEMP", .help = "of the core"}};
  ModuleReport report{.name = "mock",
                      .path = "libcardcage_mock.so",
                      .state = kReady,
                      .devices = 2,
                      .identity = identity,
                      .labels = {{"mock.cardcage.dev/gpus", "2"}},
                      .drivers = {"gpu.mock.cardcage.dev"}};
  report.options.entries = {{"devices", {std::int64_t{2}, true}},
                            {"mode", {std::string("shared"), false}},
                            {"token", {std::string("very-secret"), true}},
                            {"settle", {std::int64_t{250'000'000}, false}},
                            {"links", {std::vector<std::string>{"a", "b"}, true}}};
  return report;
}

std::vector<CauseHealth> causes_of_a_sick_gpu() {
  return {{.health = {.state = HealthState::kUnhealthy,
                      .reason = "XidError",
                      .message = "fell off the bus",
                      .taint = TaintEffect::kNoSchedule,
                      .cause = "Xid"},
           .changed = kNow - 10min},
          {.health = {.state = HealthState::kUnhealthy,
                      .reason = "RowRemapFailure",
                      .message = "bank 3",
                      .taint = TaintEffect::kInform,
                      .cause = "Ecc",
                      .taint_key = "mock.cardcage.dev/ecc"},
           .changed = kNow - 5min},
          {.health = {.state = HealthState::kUnmonitored, .cause = "NvLink"}, .changed = kNow - 1h},
          {.health = {.state = HealthState::kHealthy, .cause = "Thermal"}, .changed = kNow - 1h}};
}

DeviceReport gpu(int number, HealthState health) {
  const std::string name = fmt::format("gpu-{}", number);
  const bool healthy = health == HealthState::kHealthy;
  std::vector<CauseHealth> causes =
      healthy ? std::vector{CauseHealth{{.state = health}, kNow - 1h}} : causes_of_a_sick_gpu();
  DeviceHealth device_health = compose(std::move(causes));
  Device device{.id = fmt::format("GPU-{}", number),
                .name = name,
                .kind = "gpu",
                .pci_bus_id = fmt::format("0000:3{}:00.0", number),
                .numa_nodes = {number},
                .health = std::move(device_health.health)};
  device.attributes = {{"index", std::int64_t{number}},
                       {"model", std::string("Größe XL")},
                       {"driverVersion", SemVer{"1.2.3"}},
                       {"ecc", true},
                       {"lanes", std::vector<std::int64_t>{0, 1}}};
  device.capacity = {{"memory", Quantity{32}}};
  return {.module = "mock",
          .device = std::move(device),
          .causes = std::move(device_health.causes),
          .driver = "gpu.mock.cardcage.dev",
          .pool = "node1"};
}

Device spare() {
  Device device{every_trait(), "spare", "spare", "Lüfter"};
  device.attributes = {};
  device.capacity = {{"air", Quantity{.value = 400, .exp10 = 9}}, {"blades", Quantity{4}}, {"noise", Quantity{8}}};
  device.policies = {{"air",
                      {.default_amount = Quantity{.value = 100, .exp10 = 9},
                       .min = Quantity{.value = 50, .exp10 = 9},
                       .max = Quantity{.value = 200, .exp10 = 9},
                       .step = Quantity{.value = 50, .exp10 = 9}}},
                     {"blades", {.default_amount = Quantity{1}, .values = {Quantity{1}, Quantity{2}, Quantity{4}}}},
                     {"noise", {.default_amount = Quantity{2}, .min = Quantity{1}}}};
  device.binding = {{"Ready", "example.com/Attached"}, {"Failed"}, true};
  return device;
}

std::shared_ptr<const ClaimRecord> claim(const std::string& name, const std::string& uid, WallTime prepared) {
  const std::string driver = "gpu.mock.cardcage.dev";
  ClaimRecord record{.driver = driver,
                     .ref = {"default", name, uid},
                     .phase = ClaimPhase::kPrepared,
                     .begun = prepared,
                     .prepared = prepared};
  HeldDevice held;
  held.allocation = {.request = "main/big", .driver = driver, .pool = "node1", .device = "gpu-0"};
  held.device_id = "GPU-0";
  held.cdi_name = uid + "-gpu-0";
  record.parts = {{.module = "mock", .devices = {held}}};
  return std::make_shared<const ClaimRecord>(record);
}

CatalogueReport bitstreams() {
  return {.module = "mock",
          .catalogue = {.entries = {{.kind = "bitstream",
                                     .name = "aes-256",
                                     .detail = "AES-256 at 300 MHz",
                                     .attributes = {{"part", std::string("xcu250")},
                                                    {"shell", SemVer{"1.2.3"}},
                                                    {"clocks", std::vector<std::int64_t>{300, 500}}}},
                                    {.kind = "bitstream",
                                     .name = "old",
                                     .refused = true,
                                     .detail = "manifest 'old.toml': key 'part' is missing; add it"}}}};
}

std::shared_ptr<const ClaimRecord> fpga_in_use() {
  ClaimRecord record{.driver = "example.com/fpga",
                     .ref = {"", "", "fpga-0"},
                     .phase = ClaimPhase::kPrepared,
                     .begun = kNow - 10min,
                     .prepared = kNow - 10min};
  HeldDevice held;
  held.allocation = {.driver = record.driver, .device = "fpga-0"};
  held.device_id = held.cdi_name = "fpga-0";
  held.holders = {{"fpga-0::0", "default", "encoder", "main", kNow - 10min}, {"fpga-0::1", "", "", "", kNow}};
  record.parts = {{.module = "fpga", .devices = {held}}};
  return std::make_shared<const ClaimRecord>(record);
}

}  // namespace

Task<Result<ForgetReport>> FakeDaemon::forget(std::string uid, bool force) {
  if (failure.code != Code::kOk) co_return std::unexpected(failure);
  ForgetReport report;
  for (const auto& record : claim_records)
    if (record->ref.uid == uid) report.claims.push_back({record, ""});
  if (force) report.problems.emplace_back("module 'mock' cannot release device 'gpu-0': it is not running");
  co_return report;
}

Task<Result<std::vector<HistoryEntry>>> FakeDaemon::history(HistoryQuery query) {
  last_asked = std::move(query);
  if (failure.code != Code::kOk) co_return std::unexpected(failure);
  co_return history_entries;
}

Task<Result<std::vector<CatalogueReport>>> FakeDaemon::catalogue(std::string module) {
  if (failure.code != Code::kOk) co_return std::unexpected(failure);
  std::vector<CatalogueReport> reports = catalogue_reports;
  std::erase_if(reports, [&](const auto& report) { return !module.empty() && report.module != module; });
  co_return reports;
}

Task<Result<ReloadReport>> FakeDaemon::reload(bool dry_run) {
  if (failure.code != Code::kOk) co_return std::unexpected(failure);
  ReloadReport report = reload_report;
  report.applied = !dry_run && report.errors.empty();
  if (!report.applied)
    for (auto& step : report.steps) step.outcome.reset();
  co_return report;
}

Task<Result<Condition>> FakeDaemon::command(ModuleCommand command) {
  {
    const std::lock_guard lock(last_command_->mutex);
    last_command_->command = std::move(command);
  }
  if (failure.code != Code::kOk) co_return std::unexpected(failure);
  co_return Condition{Level::kGood, "done", ""};
}

FakeDaemon FakeDaemon::busy_node() {
  FakeDaemon daemon;
  daemon.status_report = {
      .node = "node1",
      .started = kNow - 26h,
      .uptime = 26h,
      .restarts = {},
      .config_file = "/etc/cardcage/cardcage.toml",
      .config_sha256 = "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae",
      .api_server = {Level::kGood, "connected", ""},
      .ledger = {Level::kGood, "ok", ""},
      .live_claims = 2,
      .drivers = {{.name = "gpu.mock.cardcage.dev",
                   .module = "mock",
                   .pool = "node1",
                   .socket = "/var/lib/kubelet/plugins/gpu.mock.cardcage.dev/dra.sock",
                   .registration = kRegistered,
                   .publication = {Level::kGood, "published", ""},
                   .generation = 3,
                   .slices = 1,
                   .devices = 2},
                  {.name = "nic.example.com",
                   .module = "nic",
                   .pool = "node1",
                   .socket = "/var/lib/kubelet/plugins/nic.example.com/dra.sock",
                   .registration = {Level::kInProgress, "waiting", "its modules have not listed a device yet"},
                   .publication = {Level::kGood, "published", ""},
                   .generation = 1,
                   .slices = 1}},
      .resources = {{.name = "example.com/fpga",
                     .module = "fpga",
                     .socket = "/var/lib/kubelet/device-plugins/cardcage-1f.sock",
                     .way = RegistrationWay::kKubelet,
                     .registration = kRegistered,
                     .devices = 8,
                     .healthy = 7,
                     .handed_out = 2}},
      .pods_api = Condition{Level::kGood, "watching", "12 pods"},
      .pod_resources = Condition{Level::kGood, "ok", ""},
      .state_disk = DiskSpace{.free = std::uint64_t{12} << 30, .used = 3 << 19},
      .warnings = {"module 'nic' is backing off: it does not start: the driver 'mlx5_core' is not loaded"}};
  daemon.status_report.config.applied = kNow - 2h;
  daemon.status_report.config.reloads = 3;
  daemon.reload_report = {
      .file = "/etc/cardcage/cardcage.toml",
      .steps = {{{"module fpga", PlanAction::kAdd, "", "fpga"}, kReady},
                {{"module mock", PlanAction::kReplace,
                  "new instance (none for live options), since options.mode differs", "mock"},
                 kReady},
                {{"module nic", PlanAction::kRemove, "drains; removed when no claim holds its devices", "nic"},
                 Condition{Level::kInProgress, "draining",
                           "it was removed from the configuration; 2 claims hold devices of it"}},
                {{"resource example.com/fpga", PlanAction::kAdd, "", ""}, {}},
                {{"log.level", PlanAction::kSet, "", ""}, {}},
                {{"node.kubelet_root", PlanAction::kRestart, "needs a restart of the daemon", ""}, {}}}};
  daemon.module_reports = {
      mock_module(),
      {.name = "nic",
       .path = "vendor/libnic.so",
       .isolation = Isolation::kProcess,
       .permissions = {.confined_by = "user cardcage-nic, CAP_NET_ADMIN, seccomp",
                       .programs = {},
                       .writes = {"/sys/bus/pci/devices/*/reset"},
                       .edits = {.device_nodes = {{"/dev/infiniband/*"}},
                                 .hooks = {std::vector<std::string>()},
                                 .mounts = {{"/run/nic:rw", "/usr/lib/nic/*"}},
                                 .net_devices = {{"ens1f0v*"}},
                                 .env = {std::vector<std::string>()},
                                 .groups = {std::vector<std::uint32_t>{44}}}},
       .state = {Level::kBad, "backing off", kWhyAway},
       .restarts = 4,
       .since = kNow - 2min,
       .recent_failures = 4,
       .last_end = ModuleEnd{kNow - 2min,
                             kWhyAway,
                             {{kNow - 2min - 1s, "looking for cards"}, {kNow - 2min, "printed: no card in slot 3"}}},
       .not_offered = {{"0000:01:00.0", "'eth0' has the node's default route"}, {"0000:02:00.0", "it has no driver"}}}};
  daemon.device_reports = {
      gpu(0, HealthState::kHealthy), gpu(1, HealthState::kUnhealthy), {.module = "mock", .device = spare()}};
  daemon.device_reports[0].holders = {{"default", "training", "uid-1"}};
  daemon.claim_records = {claim("training", "uid-1", kNow - 90min), claim("inference-with-a-long-name", "uid-2", kNow),
                          fpga_in_use()};
  daemon.history_entries = {{.driver = "gpu.mock.cardcage.dev",
                             .ref = {"default", "yesterday", "uid-0"},
                             .module = "mock",
                             .pool = "node1",
                             .device = "gpu-0",
                             .request = "main",
                             .prepared = kNow - 25h,
                             .released = kNow - 24h - 30s}};
  daemon.catalogue_reports = {bitstreams()};
  return daemon;
}

}  // namespace cardcage
