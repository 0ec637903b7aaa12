#include "host/metrics/metrics.h"

#include <gmock/gmock.h>

#include "tests/fakes/fake_daemon.h"

namespace cardcage {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(MetricsTest, ThePageShowsTheStateOfTheDaemon) {
  const FakeDaemon daemon = FakeDaemon::busy_node();
  const std::string page = metrics_text(metrics_facts(daemon));
  for (const char* line :
       {"cardcage_module_state{module=\"nic\",state=\"backing off\"} 1\n",
        "cardcage_module_restarts_total{module=\"nic\"} 4\n",
        "cardcage_device_health{module=\"mock\",device=\"gpu-1\",id=\"GPU-1\",served_by=\"gpu.mock.cardcage.dev\","
        "state=\"unhealthy\",reason=\"XidError\"} 1\n",
        "cardcage_device_held{module=\"mock\",device=\"gpu-0\",id=\"GPU-0\",served_by=\"gpu.mock.cardcage.dev\","
        "namespace=\"default\",claim=\"training\",pod=\"\",uid=\"uid-1\"} 1\n",
        "cardcage_registered{name=\"nic.example.com\",api=\"dra\"} 0\n",
        "cardcage_registered{name=\"example.com/fpga\",api=\"device-plugin\"} 1\n",
        "cardcage_published{name=\"gpu.mock.cardcage.dev\"} 1\n",
        "cardcage_driver_slices{name=\"gpu.mock.cardcage.dev\"} 1\n",
        "cardcage_resource_devices{resource=\"example.com/fpga\",state=\"unhealthy\"} 1\n", "cardcage_ledger_ok 1\n"})
    EXPECT_THAT(page, HasSubstr(line));
  EXPECT_THAT(page, Not(HasSubstr("cardcage_call_seconds"))) << "there were no calls yet";
}

TEST(MetricsTest, ShowsHowOftenAndWhyTheDaemonWasRestarted) {
  FakeDaemon daemon = FakeDaemon::busy_node();
  EXPECT_THAT(metrics_text(metrics_facts(daemon)), HasSubstr("cardcage_restarts_total 0\n"));
  EXPECT_THAT(metrics_text(metrics_facts(daemon)), Not(HasSubstr("cardcage_last_end")));
  daemon.status_report.restarts = {.count = 3, .last_end = "was killed by signal 9 (Killed)"};
  const std::string page = metrics_text(metrics_facts(daemon));
  EXPECT_THAT(page, HasSubstr("cardcage_restarts_total 3\n"));
  EXPECT_THAT(page, HasSubstr("cardcage_last_end{reason=\"was killed by signal 9 (Killed)\"} 1\n"));
}

TEST(MetricsTest, ShowsThatAConfigurationIsNotApplied) {
  FakeDaemon daemon = FakeDaemon::busy_node();
  for (const char* line :
       {"cardcage_config_ok 1\n", "cardcage_config_reloads_total 3\n", "cardcage_config_reload_failures_total 0\n",
        "cardcage_config_restart_needed 0\n", "cardcage_config_last_success_timestamp_seconds 1799992800\n"})
    EXPECT_THAT(metrics_text(metrics_facts(daemon)), HasSubstr(line));
  daemon.status_report.config.errors = {"c.toml:3:1: unknown key 'modul'"};
  daemon.status_report.config.restart = {"node.name"};
  daemon.status_report.config.failures = 2;
  for (const char* line :
       {"cardcage_config_ok 0\n", "cardcage_config_reload_failures_total 2\n", "cardcage_config_restart_needed 1\n"})
    EXPECT_THAT(metrics_text(metrics_facts(daemon)), HasSubstr(line));
}

TEST(MetricsTest, ShowsThatAModuleRefusesItsConfiguration) {
  FakeDaemon daemon = FakeDaemon::busy_node();
  EXPECT_THAT(metrics_text(metrics_facts(daemon)), HasSubstr("cardcage_module_config_ok{module=\"mock\"} 1\n"));
  daemon.status_report.refused_by = {"mock"};
  daemon.module_reports.front().config_ok = false;
  for (const char* line : {"cardcage_config_ok 0\n", "cardcage_module_config_ok{module=\"mock\"} 0\n"})
    EXPECT_THAT(metrics_text(metrics_facts(daemon)), HasSubstr(line));
}

TEST(MetricsTest, ShowsTheRestartsOfEachService) {
  FakeDaemon daemon = FakeDaemon::busy_node();
  daemon.module_reports.front().services = {{"mock", "uid-1", "mps", "runs as pid 12", 2}};
  EXPECT_THAT(metrics_text(metrics_facts(daemon)),
              HasSubstr("cardcage_service_restarts{module=\"mock\",uid=\"uid-1\",service=\"mps\"} 2\n"));
}

TEST(MetricsTest, TheLevelOfAConditionDecidesNotItsWords) {
  FakeDaemon daemon;
  daemon.status_report.ledger = {Level::kGood, "failing", ""};
  daemon.status_report.api_server = {Level::kInProgress, "waiting", "nothing has been published yet"};
  daemon.status_report.drivers = {{.name = "d", .registration = {Level::kBad, "registered", ""}}};
  for (const char* line :
       {"cardcage_ledger_ok 1\n", "cardcage_api_server_ok 1\n", "cardcage_registered{name=\"d\",api=\"dra\"} 0\n"})
    EXPECT_THAT(metrics_text(metrics_facts(daemon)), HasSubstr(line));
  daemon.status_report.ledger.level = daemon.status_report.api_server.level = Level::kBad;
  daemon.status_report.drivers[0].registration.level = Level::kGood;
  for (const char* line :
       {"cardcage_ledger_ok 0\n", "cardcage_api_server_ok 0\n", "cardcage_registered{name=\"d\",api=\"dra\"} 1\n"})
    EXPECT_THAT(metrics_text(metrics_facts(daemon)), HasSubstr(line));
}

TEST(MetricsTest, ShowsTheRoomForStateOnceItIsKnown) {
  FakeDaemon daemon;
  daemon.status_report.state_disk.reset();
  EXPECT_THAT(metrics_text(metrics_facts(daemon)), ::testing::Not(HasSubstr("cardcage_state_dir")));
  daemon.status_report.state_disk = DiskSpace{.free = 4096, .used = 12};
  EXPECT_THAT(metrics_text(metrics_facts(daemon)), HasSubstr("\ncardcage_state_dir_free_bytes 4096\n"));
  EXPECT_THAT(metrics_text(metrics_facts(daemon)), HasSubstr("\ncardcage_state_dir_used_bytes 12\n"));
}

TEST(MetricsTest, CountsCallsByNameAndResult) {
  MetricsCounters counters;
  counters.calls.answered(KubeletCall::kAllocate, "example.com/fpga", Code::kOk, std::chrono::microseconds(300));
  counters.calls.answered(KubeletCall::kAllocate, "example.com/fpga", Code::kOk, std::chrono::milliseconds(3));
  counters.calls.answered(KubeletCall::kPrepare, "gpu.example.com", Code::kUnavailable, std::chrono::seconds(3));
  const std::string page = metrics_text(metrics_facts(FakeDaemon(), counters));
  const std::string allocate = "{call=\"allocate\",code=\"ok\",name=\"example.com/fpga\"";
  EXPECT_THAT(page, HasSubstr("cardcage_call_seconds_count" + allocate + "} 2\n"));
  EXPECT_THAT(page, HasSubstr("cardcage_call_seconds_bucket" + allocate + ",le=\"0.0005\"} 1\n"));
  EXPECT_THAT(page, HasSubstr("code=\"unavailable\",name=\"gpu.example.com\"} 1\n"));
}

TEST(MetricsTest, ShowsTheCausesThatCountAndTheCordons) {
  FakeDaemon daemon = FakeDaemon::sick_node();
  const std::string page = metrics_text(metrics_facts(daemon));
  const auto device = [](std::string name, std::string id) {
    return fmt::format("{{module=\"mock\",device=\"{}\",id=\"{}\",served_by=\"gpu.mock.cardcage.dev\"", name, id);
  };
  for (const std::string& line :
       {"cardcage_device_cause" + device("gpu-1", "GPU-1") + ",cause=\"Xid\",state=\"unhealthy\"} 1\n",
        "cardcage_device_cause" + device("gpu-1", "GPU-1") + ",cause=\"NvLink\",state=\"unmonitored\"} 1\n",
        "cardcage_device_cause" + device("gpu-1-mig-0", "MIG-1") + ",cause=\"Xid\",state=\"unhealthy\"} 1\n",
        "cardcage_device_cause" + device("gpu-2", "GPU-2") + ",cause=\"Thermal\",state=\"degraded\"} 1\n",
        "cardcage_device_cordoned" + device("gpu-0", "GPU-0") + "} 1\n",
        "cardcage_device_quarantined" + device("gpu-1", "GPU-1") + "} 1\n"})
    EXPECT_THAT(page, HasSubstr(line));
  EXPECT_THAT(page, Not(HasSubstr("cause=\"Thermal\",state=\"healthy\""))) << "only causes that count";
  EXPECT_THAT(page, Not(HasSubstr("cardcage_device_cordoned" + device("gpu-1", "GPU-1"))));
  EXPECT_THAT(page, Not(HasSubstr("cardcage_device_quarantined" + device("gpu-2", "GPU-2"))));
}

// Prometheus refuses a page with two samples of the same labels.
TEST(MetricsTest, ACauseOfADeviceAndOfItsParentIsOneSample) {
  FakeDaemon daemon;
  daemon.device_reports = {
      {.module = "mock",
       .device = {.id = "MIG-1", .name = "mig-1"},
       .causes = {{.health = {.state = HealthState::kUnhealthy, .cause = "Xid"}},
                  {.health = {.state = HealthState::kUnhealthy, .cause = "Xid"}, .of_parent = "GPU-1"}}}};
  const std::string page = metrics_text(metrics_facts(daemon));
  const std::string sample = "cause=\"Xid\"";
  const std::size_t first = page.find(sample);
  ASSERT_NE(first, std::string::npos);
  EXPECT_EQ(page.find(sample, first + 1), std::string::npos) << page;
}

HealthEvent event_of(std::string cause, HealthEventKind kind) {
  return {.kind = kind, .device = {"gpu", "GPU-0"}, .name = "gpu-0", .cause = std::move(cause)};
}

TEST(MetricsTest, CountsEventsOfHealthByModuleCauseAndKind) {
  MetricsCounters counters;
  EXPECT_THAT(metrics_text(metrics_facts(FakeDaemon(), counters)), Not(HasSubstr("cardcage_health_events_total")));
  counters.health.note(event_of("Xid", HealthEventKind::kBegan));
  counters.health.note(event_of("Xid", HealthEventKind::kBegan));
  counters.health.note(event_of("Xid", HealthEventKind::kEnded));
  counters.health.note(event_of("", HealthEventKind::kResetFailed));
  const std::string page = metrics_text(metrics_facts(FakeDaemon(), counters));
  const auto series = [](const char* cause, HealthEventKind kind) {
    return fmt::format("cardcage_health_events_total{{cause=\"{}\",kind=\"{}\",module=\"gpu\"}}", cause,
                       to_string(kind));
  };
  EXPECT_THAT(page, HasSubstr(series("Xid", HealthEventKind::kBegan) + " 2\n"));
  EXPECT_THAT(page, HasSubstr(series("Xid", HealthEventKind::kEnded) + " 1\n"));
  EXPECT_THAT(page, HasSubstr(series("", HealthEventKind::kResetFailed) + " 1\n"));
}

TEST(MetricsTest, AModuleThatInventsCausesMakesNoSeriesWithoutEnd) {
  MetricsCounters counters;
  for (int i = 0; i < 1'000; ++i) counters.health.note(event_of(fmt::format("Error{}", i), HealthEventKind::kBegan));
  counters.health.note(event_of("Error7", HealthEventKind::kBegan));
  const std::string page = metrics_text(metrics_facts(FakeDaemon(), counters));
  EXPECT_THAT(page, HasSubstr(fmt::format("cause=\"other\",kind=\"{}\",module=\"gpu\"}} {}\n",
                                          to_string(HealthEventKind::kBegan), 1'000 - HealthCounters::kMaxCauses)));
  EXPECT_THAT(page, HasSubstr("cause=\"Error7\"")) << "known causes are still counted by name";
  EXPECT_THAT(page, Not(HasSubstr("cause=\"Error999\"")));
}

TEST(MetricsTest, EscapesLabelValues) {
  FakeDaemon daemon;
  daemon.device_reports = {{.module = "mock", .device = {.id = "a\"b\\c\nd", .name = "a"}}};
  EXPECT_THAT(metrics_text(metrics_facts(daemon)), HasSubstr(R"(id="a\"b\\c\nd")"));
}

}  // namespace
}  // namespace cardcage
