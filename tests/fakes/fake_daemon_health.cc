#include "tests/fakes/fake_daemon.h"

namespace cardcage {
namespace {

using namespace std::chrono_literals;

const WallTime kHealthNow{std::chrono::seconds(1'800'000'000)};  // 2027-01-15T08:00:00Z

std::string_view word(DeviceVerb verb) {
  switch (verb) {
    case DeviceVerb::kCordon: return "cordoned";
    case DeviceVerb::kUncordon: return "uncordoned";
    case DeviceVerb::kClear: return "cleared";
    case DeviceVerb::kReset: return "reset";
  }
  return "";
}

HealthRulesReport rules_of_mock() {
  NamedRule hot{.cause = "Thermal",
                .unit = "Cel",
                .help = "the hottest sensor",
                .rule = {.limit = ValueLimit{.limit = 90.5, .clear = 85},
                         .severity = HealthState::kDegraded,
                         .hold_down = 10s,
                         .recovery_time = 30s,
                         .taint = TaintRule{TaintEffect::kInform, "mock.cardcage.dev/hot", "yes"},
                         .kubelet = KubeletHealth::kUnhealthy},
                .origin = "cardcage.toml:12:3"};
  NamedRule xid{.cause = "Xid",
                .reason = "Xid4?",
                .help = "the driver reported an error",
                .rule = {.recovery = Recovery::kSilence,
                         .recovery_time = 5min,
                         .relapses = 3,
                         .window = 1h,
                         .default_taint = {.effect = TaintEffect::kNoSchedule},
                         .resets_per_day = 2},
                .origin = "cardcage.toml:18:3"};
  NamedRule link{.cause = "Link",
                 .unit = "1",
                 .rule = {.limit = ValueLimit{ValueLimit::Side::kBelow, 4, 4}, .severity = HealthState::kUnhealthy},
                 .origin = "declared by the module"};
  NamedRule ecc{.cause = "Ecc",
                .rule = {.recovery = Recovery::kOperator, .taint = TaintRule{}},
                .origin = "declared by the module"};
  return {.module = "mock", .rules = {hot, xid, link, ecc, {.cause = "*", .origin = "built in"}}};
}

HealthRulesReport rules_of_nic() {
  return {.module = "nic",
          .rules = {{.cause = "*", .rule = {.severity = HealthState::kHealthy}, .origin = "built in"}},
          .refused =
              "cardcage.toml:31:3: the module declares no cause 'Lnik' (did you mean 'Link'?)\n"
              "cardcage.toml:36:3: cause 'Link' is measured in '1', not in 'Cel'"};
}

std::vector<HealthEvent> history_of_gpu_1() {
  HealthEvent xid{.time = kHealthNow - 10min,
                  .kind = HealthEventKind::kQuarantined,
                  .device = {"mock", "GPU-1"},
                  .name = "gpu-1",
                  .cause = "Xid",
                  .state = HealthState::kUnhealthy,
                  .reason = "XidError",
                  .message = "fell off the bus"};
  HealthEvent began = xid, ended = xid, reset = xid, back = xid, general = xid;
  began.time -= 1s;
  began.kind = HealthEventKind::kBegan;
  reset = {.time = kHealthNow - 20min,
           .kind = HealthEventKind::kResetFailed,
           .device = xid.device,
           .name = "gpu-1",
           .message = "the driver is in use",
           .by = "remedy"};
  ended.time = kHealthNow - 30min;
  ended.kind = HealthEventKind::kEnded;
  ended.state = HealthState::kHealthy;
  ended.reason = ended.message = "";
  general.time = kHealthNow - 40min;
  general.kind = HealthEventKind::kCleared;
  general.state = HealthState::kHealthy;
  general.cause = general.reason = "";
  general.by = "alice";
  general.message = "repaired";
  back = {.time = kHealthNow - 1h, .kind = HealthEventKind::kBack, .device = xid.device, .name = "gpu-1"};
  return {xid, began, reset, ended, general, back};
}

}  // namespace

Task<Result<std::string>> FakeDaemon::command(DeviceCommand command) {
  const std::string done = fmt::format("device '{}' is {}", command.device, word(command.verb));
  {
    const std::lock_guard lock(last_command_->mutex);
    last_command_->device_command = std::move(command);
  }
  if (failure.code != Code::kOk) co_return std::unexpected(failure);
  co_return done;
}

Result<std::vector<HealthRulesReport>> FakeDaemon::health_rules(std::string module) const {
  std::vector<HealthRulesReport> reports = rules_reports;
  std::erase_if(reports, [&](const auto& report) { return !module.empty() && report.module != module; });
  if (reports.empty() && !module.empty()) return fail(Code::kNotFound, "no module '{}'", module);
  return reports;
}

Task<Result<std::vector<HealthEvent>>> FakeDaemon::health_history(HealthQuery query) {
  last_health_query = query;
  if (failure.code != Code::kOk) co_return std::unexpected(failure);
  std::vector<HealthEvent> events = health_events;
  std::erase_if(events, [&](const HealthEvent& event) {
    return (!query.device.empty() && query.device != event.device.id && query.device != event.name) ||
           (!query.module.empty() && query.module != event.device.module);
  });
  co_return events;
}

FakeDaemon FakeDaemon::sick_node() {
  FakeDaemon daemon = busy_node();
  std::vector<DeviceReport>& devices = daemon.device_reports;
  devices[0].cordon = CordonRecord{{"mock", "GPU-0"}, "gpu-0", "alice", "loose cable", kHealthNow - 3h};
  devices[1].causes[0].quarantined = true;
  DeviceReport hot = devices[0], partition = devices[1];
  hot.device.id = "GPU-2";
  hot.device.name = "gpu-2";
  hot.cordon.reset();
  hot.holders.clear();
  DeviceHealth health = compose({{.health = {.state = HealthState::kDegraded,
                                             .reason = "Hot",
                                             .message = "clocks are throttled",
                                             .cause = "Thermal",
                                             .value = 91.5},
                                  .changed = kHealthNow - 1min}});
  hot.device.health = health.health;
  hot.causes = health.causes;
  partition.device.id = "MIG-1";
  partition.device.name = "gpu-1-mig-0";
  partition.device.kind = "mig";
  partition.device.parent_id = "GPU-1";
  for (CauseHealth& cause : partition.causes) cause.of_parent = "GPU-1";
  partition.cordon = CordonRecord{{"mock", "MIG-1"}, "gpu-1-mig-0", "bob", "", kHealthNow - 2h};
  devices.insert(devices.begin() + 2, {partition, hot});
  daemon.rules_reports = {rules_of_mock(), rules_of_nic()};
  daemon.health_events = history_of_gpu_1();
  daemon.health_events.push_back(
      {.time = kHealthNow - 5h, .kind = HealthEventKind::kGone, .device = {"mock", "GPU-7"}, .name = "gpu-7"});
  return daemon;
}

}  // namespace cardcage
