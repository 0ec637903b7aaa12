// The subcommands that inspect or command a daemon: cagectl as a process against an admin server over a fake daemon.
#include <gmock/gmock.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <unistd.h>

#include <boost/json/parse.hpp>
#include <regex>

#include "cardcage/admin.grpc.pb.h"
#include "tests/fakes/admin_fixture.h"
#include "tests/fakes/built_files.h"
#include "tests/fakes/deaf_socket.h"
#include "tests/unit/ctl/cagectl_process.h"
#include "tests/unit/ctl/golden.h"

namespace cardcage {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class InspectTest : public AdminFixture {
 protected:
  Ended cagectl(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"--socket", socket.native()});
    return run_cagectl(arguments);
  }
};

class InspectGoldenTest : public InspectTest, public ::testing::WithParamInterface<GoldenCase> {};

TEST_P(InspectGoldenTest, PrintsTheGoldenFile) {
  const Ended ended = cagectl(GetParam().arguments);
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(ended.err, "");
  static const std::regex pid("(pid\"?:? )[0-9]+");
  expect_golden(GetParam().file, std::regex_replace(ended.out, pid, "$0142"));
}

const GoldenCase kInspectCases[] = {
    {"status.txt", {"status"}},
    {"status.json", {"status", "--json"}},
    {"modules.txt", {"modules"}},
    {"modules.json", {"modules", "--json"}},
    {"one_module.txt", {"modules", "nic"}},
    {"options.txt", {"modules", "--options", "mock"}},
    {"options.json", {"modules", "--options", "mock", "--json"}},
    {"devices.txt", {"devices"}},
    {"devices.json", {"--json", "devices"}},
    {"device.txt", {"devices", "gpu-1", "spare"}},
    {"devices_of_driver.txt", {"devices", "--driver", "gpu.mock.cardcage.dev", "--module", "mock"}},
    {"no_devices.txt", {"devices", "--module", "nic"}},
    {"not_offered.txt", {"devices", "--not-offered"}},
    {"not_offered.json", {"devices", "--not-offered", "--module", "nic", "--json"}},
    {"catalogue.txt", {"catalogue"}},
    {"catalogue.json", {"catalogue", "mock", "--json"}},
    {"claims.txt", {"claims"}},
    {"claims.json", {"claims", "--json"}},
    {"forget.txt", {"claims", "forget", "uid-1"}},
    {"forgotten.txt", {"claims", "forget", "uid-1", "--force"}},
    {"forgotten.json", {"claims", "forget", "uid-1", "--force", "--json"}},
    {"history.txt", {"history"}},
    {"history.json", {"history", "--json"}},
    {"names.txt", {"names", "drivers"}},
    {"reload.txt", {"reload"}},
    {"reload.json", {"reload", "--json"}},
    {"reload_plan.txt", {"reload", "--dry-run"}},
    {"module.txt", {"module", "quiesce", "mock", "--reason", "driver 580"}},
    {"module.json", {"module", "resume", "mock", "--json"}},
    {"module_device.json", {"module", "quiesce", "mock", "gpu-0", "--json"}},
};
INSTANTIATE_TEST_SUITE_P(Golden, InspectGoldenTest, ::testing::ValuesIn(kInspectCases), [](const auto& about) {
  return std::regex_replace(about.param.file, std::regex("[^a-z]"), "_");
});

TEST_F(InspectTest, ADaemonThatIsStoppedDoesNotHoldCagectl) {
  const std::filesystem::path deaf = folder / "stopped.sock";
  const DeafSocket stopped(deaf);
  ASSERT_TRUE(stopped.works());
  const Ended ended = run_cagectl({"--socket", deaf.native(), "status"});
  EXPECT_EQ(ended.err, "cagectl: cardcage accepts no connection at " + deaf.native() +
                           ": it is stopped or hangs; look at its process and its log\n");
}

TEST_F(InspectTest, AnEmptyListIsAMessageOrEmptyJson) {
  stop();
  daemon = FakeDaemon();
  daemon.status_report.node = "node1";
  start();
  EXPECT_EQ(cagectl({"modules"}).out, "no modules: the configuration has no [[module]]\n");
  EXPECT_EQ(cagectl({"devices"}).out, "no devices\n");
  EXPECT_EQ(cagectl({"catalogue"}).out, "no entries\n");
  EXPECT_EQ(cagectl({"claims"}).out, "no claims are prepared\n");
  EXPECT_EQ(cagectl({"history"}).out, "no matching claims in the history\n");
  for (const std::string command : {"modules", "devices", "catalogue", "claims", "history"})
    EXPECT_EQ(cagectl({command, "--json"}).out, "[]\n") << command;
  EXPECT_EQ(cagectl({"status"}).code, 0);
}

TEST_F(InspectTest, AReloadThatFailsIsAnError) {
  stop();
  daemon.reload_report.errors = {"c.toml:3:1: unknown key 'modul'", "c.toml:9:2: missing"};
  start();
  Ended ended = cagectl({"reload"});
  EXPECT_EQ(ended.code, 1);
  EXPECT_EQ(ended.out, "");
  EXPECT_EQ(ended.err,
            "c.toml:3:1: unknown key 'modul'\nc.toml:9:2: missing\n"
            "cagectl: /etc/cardcage/cardcage.toml was refused because of 2 errors; the running configuration stays\n");
  stop();
  daemon.reload_report.errors.clear();
  daemon.reload_report.steps[1].outcome = Condition{Level::kBad, "refused", "no such option"};
  start();
  ended = cagectl({"reload"});
  EXPECT_EQ(ended.code, 1);
  EXPECT_THAT(ended.out, HasSubstr("refused: no such option"));
  EXPECT_THAT(ended.err, HasSubstr("module mock does not run as configured"));
  EXPECT_EQ(cagectl({"reload", "--dry-run"}).code, 0);
  stop();
  daemon.reload_report.steps.clear();
  start();
  EXPECT_EQ(cagectl({"reload"}).out, "/etc/cardcage/cardcage.toml: nothing has changed\n");
}

TEST_F(InspectTest, ProgressAndServicesOfAClaimAreShown) {
  stop();
  daemon.claim_progress = "writing the bitstream, 40 %";
  daemon.claim_services = {{"mock", "uid-1", "helper", "runs as pid 12", 2}};
  daemon.module_reports.front().services = daemon.claim_services;
  start();
  EXPECT_THAT(cagectl({"claims"}).out,
              HasSubstr("prepared (writing the bitstream, 40 %); service 'helper' runs as pid 12"));
  const std::string in_json = R"("services": [)"
                              "\n      {\n"
                              R"(        "module": "mock",)"
                              "\n"
                              R"(        "claimUID": "uid-1",)";
  EXPECT_THAT(cagectl({"claims", "--json"}).out, HasSubstr(in_json));
  EXPECT_THAT(cagectl({"modules", "mock"}).out,
              HasSubstr("  services\n    helper of claim uid-1  runs as pid 12, 2 restarts\n"));
}

TEST_F(InspectTest, ACatalogueThatIsNotKnownIsAnErrorBesideTheOthers) {
  stop();
  daemon.catalogue_reports.front().catalogue.left_out = {2, "catalogue entry 'x\x1b': flags 0x2 are unknown [R16]"};
  daemon.catalogue_reports.push_back({.module = "nic", .problem = "module 'nic' is backing off"});
  daemon.catalogue_reports.push_back({.module = "fpga", .problem = "module 'fpga' is quiesced"});
  start();
  const Ended ended = cagectl({"catalogue"});
  EXPECT_EQ(ended.code, 1);
  EXPECT_EQ(
      ended.err,
      "module 'nic' is backing off\nmodule 'fpga' is quiesced\ncagectl: the catalogue of 2 modules is not known\n");
  EXPECT_THAT(ended.out, HasSubstr("mock    bitstream  aes-256  usable   AES-256 at 300 MHz\n"));
  EXPECT_THAT(ended.out, HasSubstr("warning: module 'mock': 2 entries are left out, the first: catalogue entry 'x?': "
                                   "flags 0x2 are unknown [R16]\n"));
  const Ended in_json = cagectl({"catalogue", "--json"});
  EXPECT_EQ(in_json.code, 1);
  EXPECT_THAT(in_json.out, HasSubstr(R"("problem": "module 'nic' is backing off")"));
  EXPECT_EQ(cagectl({"catalogue", "mock"}).code, 0);
  const Ended of_one = cagectl({"catalogue", "nic"});
  EXPECT_EQ(of_one.code, 1);
  EXPECT_EQ(of_one.out, "");
  EXPECT_EQ(of_one.err, "module 'nic' is backing off\ncagectl: the catalogue of 1 module is not known\n");
}

TEST_F(InspectTest, TheStatusShowsHowOftenAndWhyTheDaemonWasRestarted) {
  EXPECT_THAT(cagectl({"status"}).out, Not(HasSubstr("restarts")));
  stop();
  daemon.status_report.restarts = {.count = 3, .last_end = "was killed by signal 9 (Killed)"};
  start();
  EXPECT_THAT(cagectl({"status"}).out,
              HasSubstr("restarts       3; the previous run was killed by signal 9 (Killed)\n"));
  const std::string json = cagectl({"status", "--json"}).out;
  EXPECT_THAT(json, HasSubstr("\"restarts\": 3,\n  \"lastEnd\": \"was killed by signal 9 (Killed)\""));
}

TEST_F(InspectTest, TheStatusShowsThatTheFileIsNotApplied) {
  stop();
  daemon.status_report.config.restart = {"node.name"};
  start();
  EXPECT_THAT(cagectl({"status"}).out, HasSubstr("(sha256 2c26b46b68ff), needs restart: 1 key\n"));
  stop();
  daemon.status_report.config.errors = {"c.toml:3:1: unknown key 'modul'", "c.toml:9:2: missing"};
  start();
  EXPECT_THAT(cagectl({"status"}).out, HasSubstr("(sha256 2c26b46b68ff), refused: 2 errors\n"));
}

TEST_F(InspectTest, JsonOutputParsesAndHoldsNoSecrets) {
  for (const std::string command : {"status", "modules", "devices", "claims", "history"}) {
    const Ended ended = cagectl({command, "--json"});
    boost::system::error_code problem;
    boost::json::parse(ended.out, problem);
    EXPECT_FALSE(problem) << command << ended.out;
    EXPECT_THAT(ended.out, Not(HasSubstr("very-secret")));
  }
  EXPECT_THAT(cagectl({"modules", "--options", "mock"}).out, Not(HasSubstr("very-secret")));
}

TEST_F(InspectTest, AnUnknownNameIsAnErrorWithAHint) {
  const Ended module = cagectl({"modules", "--options", "mokc"});
  EXPECT_EQ(module.code, 1);
  EXPECT_EQ(module.err, "cagectl: no module 'mokc' (did you mean 'mock'?)\n");
  EXPECT_EQ(module.out, "");
  const Ended device = cagectl({"devices", "gpu-0", "gpu-7"});
  EXPECT_EQ(device.code, 1);
  EXPECT_EQ(device.err, "cagectl: no device 'gpu-7' (did you mean 'gpu-0'?)\n");
  EXPECT_EQ(cagectl({"devices", "0000:02:00.0"}).err,
            "cagectl: no device '0000:02:00.0': it is not offered: it has no driver\n");
}

TEST_F(InspectTest, AModuleThatWasNeverLoadedHasUnknownOptions) {
  const Ended ended = cagectl({"modules", "--options", "nic"});
  EXPECT_EQ(ended.code, 1);
  EXPECT_THAT(ended.err, HasSubstr("module 'nic' has not been loaded yet, so its options are unknown; it is backing "
                                   "off: module 'nic' does not start"));
}

TEST_F(InspectTest, HistoryFiltersReachTheDaemon) {
  const Ended ended = cagectl(
      {"history", "--claim", "default/a", "--driver", "d", "--device", "gpu-0", "--since", "1h", "--limit", "7"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  stop();
  EXPECT_EQ(daemon.last_asked.claim, "default/a");
  EXPECT_EQ(daemon.last_asked.driver, "d");
  EXPECT_EQ(daemon.last_asked.device, "gpu-0");
  EXPECT_EQ(daemon.last_asked.limit, 7);
  const auto ago = std::chrono::system_clock::now() - daemon.last_asked.since;
  EXPECT_GE(ago, std::chrono::hours(1));
  EXPECT_LT(ago, std::chrono::hours(1) + std::chrono::minutes(1));
}

TEST_F(InspectTest, ACommandCarriesUserReasonAndTimeout) {
  const auto send = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"--socket", socket.native(), "module"});
    return run_cagectl(words, "", {"SUDO_USER=alice"});
  };
  EXPECT_EQ(send({"quiesce", "mock", "--reason", "driver 580", "--timeout", "2m"}).code, 0);
  EXPECT_EQ(daemon.last_command().verb, ModuleVerb::kQuiesce);
  EXPECT_EQ(daemon.last_command().by, "alice");
  EXPECT_EQ(daemon.last_command().reason, "driver 580");
  EXPECT_EQ(daemon.last_command().limit, std::chrono::minutes(2));
  EXPECT_EQ(daemon.last_command().device, "");
  EXPECT_THAT(send({"resume", "mock", "gpu-0"}).out,
              ::testing::StartsWith("device 'gpu-0' of module 'mock' is resumed\nit stays with 1 claim:\n"));
  EXPECT_EQ(daemon.last_command().device, "gpu-0");
  EXPECT_EQ(send({"resume", "mock", "gpu-1"}).out, "device 'gpu-1' of module 'mock' is resumed\nno claim holds it\n");
  EXPECT_EQ(send({"restart", "mock", "gpu-0"}).code, 2);
  EXPECT_EQ(send({"resume", "nic"}).out, "module 'nic' is done\nno claim holds any of its devices\n");
  EXPECT_EQ(send({"restart"}).code, 2);
  EXPECT_EQ(send({}).code, 2);
  EXPECT_EQ(send({"restart", "mock", "--timeout", "soon"}).code, 2);
}

TEST_F(InspectTest, WrongUsageIsExitCodeTwo) {
  EXPECT_EQ(cagectl({}).code, 2);
  EXPECT_EQ(cagectl({"stat"}).code, 2);
  EXPECT_EQ(cagectl({"status", "--jsn"}).code, 2);
  EXPECT_EQ(cagectl({"history", "--limit", "0"}).code, 2);
  EXPECT_EQ(cagectl({"completion", "tcsh"}).code, 2);
  EXPECT_EQ(cagectl({"--help"}).code, 0);
  EXPECT_EQ(cagectl({"history", "--help"}).code, 0);
  const Ended since = cagectl({"history", "--since", "yesterday"});
  EXPECT_EQ(since.code, 2);
  EXPECT_THAT(since.err, HasSubstr("--since: 'yesterday' is not a duration: write a whole number with a unit"));
}

TEST_F(InspectTest, AMistypedWordIsCorrected) {
  EXPECT_EQ(cagectl({"statu"}).err, "cagectl: unknown command 'statu' (did you mean 'status'?)\n");
  EXPECT_EQ(cagectl({"statu"}).code, 2);
  EXPECT_EQ(cagectl({"module", "resum", "mock"}).err, "cagectl: unknown command 'resum' (did you mean 'resume'?)\n");
  EXPECT_EQ(cagectl({"status", "--jsno"}).err, "cagectl: unknown option '--jsno' (did you mean '--json'?)\n");
}

TEST_F(InspectTest, NoDevicesBecauseTheModuleIsDown) {
  stop();
  daemon.device_reports.clear();
  daemon.module_reports.front().name = "acme";
  daemon.module_reports.front().devices = 0;
  daemon.module_reports.front().state = {Level::kBad, "backing off", "no card"};
  start();
  EXPECT_THAT(cagectl({"devices", "--module", "acme"}).out,
              HasSubstr("no devices: module 'acme' does not run; see 'cagectl modules'"));
}

TEST_F(InspectTest, TheEnvironmentCanNameTheSocket) {
  EXPECT_EQ(run_cagectl({"claims"}, "", {"CARDCAGE_SOCKET=" + socket.native()}).code, 0);
}

TEST_F(InspectTest, ControlCharactersNeverReachTheTerminal) {
  stop();
  daemon.device_reports[0].device.kind = "\x1b[31mred\nnext";
  start();
  const Ended ended = cagectl({"devices"});
  EXPECT_THAT(ended.out, Not(HasSubstr("\x1b")));
  EXPECT_THAT(ended.out, HasSubstr("  ?[31mred  "));
  EXPECT_THAT(ended.out, HasSubstr("\n        next\n")) << "below the first line, in its column";
}

TEST_F(InspectTest, ShowsTheErrorsOfTheDaemon) {
  stop();
  daemon.failure = {Code::kInternal, "the ledger cannot be read: disk I/O error"};
  start();
  const Ended ended = cagectl({"history"});
  EXPECT_EQ(ended.code, 1);
  EXPECT_EQ(ended.err, "cagectl: cardcage at " + socket.native() + ": the ledger cannot be read: disk I/O error\n");
}

TEST_F(InspectTest, ADaemonThatIsDownIsExitCodeThreeWithARemedy) {
  stop();
  const Ended gone = cagectl({"status"});
  EXPECT_EQ(gone.code, 3);
  EXPECT_EQ(gone.err, "cagectl: cardcage is not running: no socket at " + socket.native() +
                          "; start it with 'systemctl start cardcage', or name another socket with --socket\n");
  const std::string file = folder / "file";
  ASSERT_TRUE(write_file_atomically(file, "", 0600));
  const Ended dead = run_cagectl({"--socket", file, "status"});
  EXPECT_EQ(dead.code, 3);
  EXPECT_THAT(dead.err, StartsWith("cagectl: cardcage is not running: no process listens on " + file));
  const Ended longest = run_cagectl({"--socket", "/" + std::string(200, 'x'), "status"});
  EXPECT_EQ(longest.code, 1);
  EXPECT_THAT(longest.err, HasSubstr("has 201 bytes and unix sockets allow 107"));
}

TEST_F(InspectTest, AUserWithoutPermissionGetsARemedy) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to become another user";
  std::filesystem::permissions(folder.path(), std::filesystem::perms(0755));
  const Ended ended = run_program(
      "setpriv", {"--reuid=65534", "--clear-groups", built_program("cagectl"), "--socket", socket, "status"});
  if (ended.code == 127 || ended.code == 126) GTEST_SKIP() << "nobody cannot run " << built_program("cagectl");
  EXPECT_EQ(ended.code, 1);
  EXPECT_EQ(ended.err,
            "cagectl: permission denied on " + socket.native() + "; run cagectl as root, or as the user of cardcage\n");
}

// A daemon of another version.
class OtherVersion final : public admin::v1::Admin::Service {
 public:
  explicit OtherVersion(const std::string& socket) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("unix:" + socket, grpc::InsecureServerCredentials());
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  ~OtherVersion() override { server_->Shutdown(std::chrono::system_clock::now()); }
  grpc::Status GetStatus(grpc::ServerContext*, const admin::v1::GetStatusRequest*,
                         admin::v1::GetStatusResponse* response) override {
    response->set_version("9.9.9");
    response->set_node("node1");
    response->mutable_api_server()->set_state("teleported");
    return grpc::Status::OK;
  }

 private:
  std::unique_ptr<grpc::Server> server_;
};

TEST(OtherVersionTest, ANewerDaemonIsShownWithAWarning) {
  const ScratchFolder folder;
  const OtherVersion server(folder / "s");
  const Ended ended = run_cagectl({"--socket", folder / "s", "status"});
  EXPECT_EQ(ended.code, 0);
  EXPECT_THAT(ended.out, HasSubstr("teleported"));
  EXPECT_THAT(ended.out, HasSubstr("warning: this is cagectl 0.1.0, the daemon is 9.9.9\n"));
}

TEST(OtherVersionTest, AnUnknownCallNamesBothVersions) {
  const ScratchFolder folder;
  const OtherVersion server(folder / "s");
  const Ended ended = run_cagectl({"--socket", folder / "s", "devices"});
  EXPECT_EQ(ended.code, 1);
  EXPECT_EQ(ended.err,
            "cagectl: cardcage 9.9.9 does not know this command of cagectl 0.1.0; use the cagectl of its version\n");
}

}  // namespace
}  // namespace cardcage
