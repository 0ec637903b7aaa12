// cagectl health, health rules and device: as a process against an admin server over a fake daemon.
#include <gmock/gmock.h>

#include <boost/json/parse.hpp>
#include <regex>

#include "tests/fakes/admin_fixture.h"
#include "tests/unit/ctl/cagectl_process.h"
#include "tests/unit/ctl/golden.h"

namespace cardcage {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::Not;

class HealthTest : public AdminFixture {
 protected:
  void SetUp() override {
    daemon = FakeDaemon::sick_node();
    start();
  }
  Ended cagectl(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"--socket", socket.native()});
    return run_cagectl(arguments, "", {"SUDO_USER=alice"});
  }
};

class HealthGoldenTest : public HealthTest, public ::testing::WithParamInterface<GoldenCase> {};

TEST_P(HealthGoldenTest, PrintsTheGoldenFile) {
  const Ended ended = cagectl(GetParam().arguments);
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(ended.err, "");
  if (GetParam().file.ends_with(".json")) {
    boost::system::error_code problem;
    boost::json::parse(ended.out, problem);
    EXPECT_FALSE(problem) << ended.out;
  }
  expect_golden(GetParam().file, ended.out);
}

const GoldenCase kHealthCases[] = {
    {"health.txt", {"health"}},
    {"health.json", {"health", "--json"}},
    {"health_device.txt", {"health", "gpu-1"}},
    {"health_device.json", {"health", "GPU-1", "--json"}},
    {"health_degraded.txt", {"health", "gpu-2"}},
    {"health_partition.txt", {"health", "gpu-1-mig-0"}},
    {"health_unlisted.txt", {"health", "gpu-7"}},
    {"health_unlisted.json", {"health", "gpu-7", "--json"}},
    {"health_rules.txt", {"health", "rules", "mock"}},
    {"health_rules_refused.txt", {"health", "rules"}},
    {"health_rules.json", {"health", "rules", "--json"}},
    {"device_cordon.txt", {"device", "cordon", "gpu-1", "--reason", "loose cable"}},
    {"device_cordon.json", {"device", "cordon", "gpu-1", "--json"}},
    {"sick_devices.txt", {"devices"}},
    {"sick_device.txt", {"devices", "gpu-0", "gpu-1-mig-0", "gpu-2"}},
    {"causes.txt", {"names", "causes"}},
};
INSTANTIATE_TEST_SUITE_P(Golden, HealthGoldenTest, ::testing::ValuesIn(kHealthCases), [](const auto& about) {
  return std::regex_replace(about.param.file, std::regex("[^a-z]"), "_");
});

TEST_F(HealthTest, ADeviceOfAnotherModuleIsNotShown) {
  EXPECT_EQ(cagectl({"health", "--module", "mock"}).out, cagectl({"health"}).out);
  EXPECT_EQ(cagectl({"health", "--module", "nic"}).out,
            "no devices: module 'nic' does not run; see 'cagectl modules'\n");
}

TEST_F(HealthTest, HealthyDevicesAreOneLine) {
  stop();
  daemon.device_reports.erase(daemon.device_reports.begin() + 1, daemon.device_reports.end());
  daemon.device_reports[0].cordon.reset();
  start();
  EXPECT_EQ(cagectl({"health"}).out, "the only device is healthy\n");
  EXPECT_EQ(cagectl({"health", "--json"}).out, "[]\n");
  stop();
  daemon.device_reports.push_back(daemon.device_reports[0]);
  daemon.device_reports[1].module = "other";
  start();
  EXPECT_EQ(cagectl({"health"}).out, "all 2 devices are healthy\n");
  const Ended ambiguous = cagectl({"health", "gpu-0"});
  EXPECT_EQ(ambiguous.code, 1);
  EXPECT_EQ(ambiguous.err, "cagectl: modules 'mock' and 'other' both list a device 'gpu-0'; name one with --module\n");
  stop();
  daemon.rules_reports.push_back({.module = "other", .rules = {{.cause = "*", .origin = "built in"}}});
  start();
  EXPECT_THAT(cagectl({"health", "gpu-0", "--module", "other"}).out, HasSubstr("  module   other\n"));
}

TEST_F(HealthTest, TheHistoryIsAskedForTheDeviceItself) {
  EXPECT_EQ(cagectl({"health", "gpu-1", "--since", "1h", "--limit", "7"}).code, 0);
  stop();
  EXPECT_EQ(daemon.last_health_query.device, "GPU-1");
  EXPECT_EQ(daemon.last_health_query.module, "mock");
  EXPECT_EQ(daemon.last_health_query.limit, 7);
  const auto ago = std::chrono::system_clock::now() - daemon.last_health_query.since;
  EXPECT_GE(ago, 1h);
  EXPECT_LT(ago, 1h + 1min);
}

TEST_F(HealthTest, AnUnknownNameIsAnErrorWithAHint) {
  const Ended device = cagectl({"health", "gpu-9"});
  EXPECT_EQ(device.code, 1);
  EXPECT_EQ(device.out, "");
  EXPECT_EQ(device.err,
            "cagectl: no device 'gpu-9' (did you mean 'gpu-0'?): no module lists it, and the history does not name "
            "it\n");
  const Ended module = cagectl({"health", "rules", "mokc"});
  EXPECT_EQ(module.code, 1);
  EXPECT_THAT(module.err, HasSubstr("no module 'mokc'"));
}

TEST_F(HealthTest, OptionsOfTheHistoryNeedADevice) {
  EXPECT_EQ(cagectl({"health", "--since", "1h"}).code, 2);
  EXPECT_EQ(cagectl({"health", "--limit", "5"}).code, 2);
  EXPECT_EQ(cagectl({"health", "gpu-1", "--limit", "0"}).code, 2);
  EXPECT_EQ(cagectl({"health", "rules", "mock", "gpu-1"}).code, 2);
  const Ended ended = cagectl({"health", "gpu-1", "--since", "yesterday"});
  EXPECT_EQ(ended.code, 2);
  EXPECT_THAT(ended.err, HasSubstr("--since: 'yesterday' is not a duration"));
}

TEST_F(HealthTest, ADaemonWithoutModulesHasNoRules) {
  stop();
  daemon.rules_reports.clear();
  start();
  EXPECT_EQ(cagectl({"health", "rules"}).out, "no modules: the configuration has no [[module]]\n");
  EXPECT_EQ(cagectl({"health", "rules", "--json"}).out, "[]\n");
}

TEST_F(HealthTest, ControlCharactersNeverReachTheTerminal) {
  stop();
  daemon.device_reports[1].device.health.message = "\x1b[31mred\nnext";
  daemon.device_reports[1].causes[0].health.message = "\x1b[31mred\nnext";
  daemon.health_events[0].message = "\x1b[31mred\nnext";
  daemon.rules_reports[0].refused = "\x1b[31mred";
  start();
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"health"}, {"health", "gpu-1"}, {"health", "rules"}}) {
    EXPECT_THAT(cagectl(words).out, HasSubstr("?[31mred")) << words.back();
    EXPECT_THAT(cagectl(words).out, Not(HasSubstr("\x1b"))) << words.back();
  }
}

TEST_F(HealthTest, CommandsForADeviceReachTheDaemon) {
  EXPECT_EQ(cagectl({"device", "cordon", "gpu-0", "--reason", "loose cable", "--module", "mock"}).code, 0);
  DeviceCommand got = daemon.last_device_command();
  EXPECT_EQ(got.verb, DeviceVerb::kCordon);
  EXPECT_EQ(got.device, "gpu-0");
  EXPECT_EQ(got.module, "mock");
  EXPECT_EQ(got.by, "alice");
  EXPECT_EQ(got.reason, "loose cable");
  EXPECT_EQ(cagectl({"device", "uncordon", "gpu-0"}).out, "device 'gpu-0' is uncordoned\n");
  EXPECT_EQ(daemon.last_device_command().verb, DeviceVerb::kUncordon);
  EXPECT_EQ(cagectl({"device", "clear", "gpu-1", "Xid", "--reason", "replaced"}).code, 0);
  got = daemon.last_device_command();
  EXPECT_EQ(got.verb, DeviceVerb::kClear);
  EXPECT_EQ(got.cause, "Xid");
  EXPECT_EQ(got.reason, "replaced");
  EXPECT_EQ(cagectl({"device", "clear", "gpu-1", ""}).code, 0) << "the cause is empty";
  EXPECT_EQ(daemon.last_device_command().cause, "");
  EXPECT_EQ(cagectl({"device", "reset", "GPU-1"}).code, 0);
  got = daemon.last_device_command();
  EXPECT_EQ(got.verb, DeviceVerb::kReset);
  EXPECT_FALSE(got.force);
  EXPECT_EQ(got.limit, 2min);
  EXPECT_EQ(cagectl({"device", "reset", "GPU-1", "--force", "--timeout", "5m"}).code, 0);
  EXPECT_TRUE(daemon.last_device_command().force);
  EXPECT_EQ(daemon.last_device_command().limit, 5min);
}

TEST_F(HealthTest, AWrongCommandForADeviceIsNotSent) {
  for (const std::vector<std::string>& words : {std::vector<std::string>{"device"},
                                                {"device", "cordon"},
                                                {"device", "clear", "gpu-1"},
                                                {"device", "cordon", "gpu-1", "--force"},
                                                {"device", "clear", "gpu-1", "Xid", "--timeout", "1m"}})
    EXPECT_EQ(cagectl(words).code, 2) << words.back();
  EXPECT_EQ(cagectl({"device", "reset", "gpu-1", "--timeout", "soon"}).code, 2);
  EXPECT_EQ(daemon.last_device_command().device, "");
}

TEST_F(HealthTest, ARefusedCommandIsAnErrorInTheDaemonsWords) {
  stop();
  daemon.failure = {Code::kUnimplemented, "module 'mock' cannot reset devices: it has no cage.reset"};
  start();
  const Ended ended = cagectl({"device", "reset", "gpu-1"});
  EXPECT_EQ(ended.code, 1);
  EXPECT_EQ(ended.out, "");
  EXPECT_EQ(ended.err,
            "cagectl: cardcage at " + socket.native() + ": module 'mock' cannot reset devices: it has no cage.reset\n");
}

}  // namespace
}  // namespace cardcage
