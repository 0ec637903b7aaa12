// cage.service in both isolations, with real programs: shell scripts that the tests write.
#include <signal.h>
#include <sys/wait.h>

#include <iterator>

#include "host/core/file.h"
#include "host/process/child_process.h"
#include "host/process/spawn_plan.h"
#include "host/process/start_child.h"
#include "host/services/services.h"
#include "tests/fakes/built_files.h"
#include "tests/unit/module/scenario_fixture.h"

namespace cardcage {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

class ServiceScenarios : public ScenarioFixture {
 protected:
  ServiceScenarios() {
    modules_dir = built_modules();
    places.groups = find_control_group().value_or("");
    services = std::make_shared<Services>(core, clock, places);
  }
  ~ServiceScenarios() override {
    let_go();
    for (const char* uid : {"u1", "u2"}) EXPECT_TRUE(finish(services->stop_all("m", uid, later())));
  }
  void write_script(const std::string& text) {
    std::ofstream(folder / "tool") << "#!/bin/sh\n" << text << "\n" << std::flush;
    fs::permissions(folder / "tool", fs::perms::owner_all);
  }
  // Starts the module, which keeps `tool`, a shell script with this text, as a service of each claim.
  Status start_with(const std::string& script, Options options = {}) {
    write_script(script);
    options.try_emplace("service", std::vector<std::string>{"tool", "one", "two"});
    ModuleConfig wanted = config("libcardcage_mock.so", options);
    wanted.programs = {folder / "tool", folder / "absent"};
    auto loaded = run(load_file(core, clock, wanted, modules_dir, soon(), nullptr, {&groups, writes, services, roots}));
    if (!loaded) return std::unexpected(loaded.error());
    module = *loaded;
    return run(module->start(events(), soon()));
  }
  Result<PreparedEdits> prepare(const std::string& uid = "u1") {
    return finish(module->call(PrepareCall{claim(uid, {uid == "u1" ? "gpu-0" : "gpu-1"})}, later()));
  }
  Status unprepare() { return finish(module->call(UnprepareCall{claim("u1", {"gpu-0"})}, later())); }
  std::string error_of_prepare() {
    const auto prepared = prepare();
    return prepared ? "it was prepared" : prepared.error().message;
  }
  std::string state(const std::string& uid = "u1") {
    const auto its = services->of_claim(uid);
    return its.size() == 1 ? its.front().state : std::to_string(its.size()) + " services";
  }
  // The pid in the last line of the file, to which each start of a script appends one.
  pid_t pid_in(const std::string& name, std::size_t starts = 1) {
    std::vector<pid_t> pids;
    set_pace();
    EXPECT_TRUE(eventually([&] {
      std::istringstream lines(read_file(folder / name, 10'000).value_or(""));
      pids.assign(std::istream_iterator<pid_t>(lines), {});
      if (pids.size() < starts) keep_pace();
      return pids.size() >= starts;
    })) << name;
    return pids.empty() ? 0 : pids.back();
  }
  std::string note_pid(const std::string& name = "pid") { return "echo $$ >> " + (folder / name).native() + "\n"; }
  bool is_alive(pid_t pid) { return pid > 0 && ::kill(pid, 0) == 0 && !hold_of(pid).contains("state Z"); }
  bool is_gone(pid_t pid) {
    return eventually([&] { return !is_alive(pid); });
  }

  Services::Places places{.records = folder / "records", .outputs = folder / "outputs", .groups = {}, .boot_id = "b"};
  std::shared_ptr<Services> services;
};

INSTANTIATE_TEST_SUITE_P(Isolation, ServiceScenarios, ::testing::Values(Isolation::kInProcess, Isolation::kProcess),
                         name_of_isolation);

constexpr std::string_view kWait = "while :; do sleep 1000; done";

TEST_P(ServiceScenarios, RunsUntilTheClaimIsReleased) {
  ASSERT_TRUE(start_with(note_pid() + "echo \"$# $2 $PATH\" > " + (folder / "seen").native() + "\nexec sleep 1000"));
  ASSERT_TRUE(prepare());
  const pid_t pid = pid_in("pid");
  EXPECT_TRUE(eventually([&] { return read_file(folder / "seen", 100) == "2 two /usr/sbin:/usr/bin:/sbin:/bin\n"; }));
  EXPECT_EQ(state(), fmt::format("runs as pid {}", pid));
  EXPECT_TRUE(prepare()) << "a repeated prepare does not start another";
  EXPECT_EQ(state(), fmt::format("runs as pid {}", pid));
  ASSERT_TRUE(unprepare());
  EXPECT_TRUE(is_alive(pid)) << "the host ends it after unprepare, unless the module does";
  EXPECT_TRUE(finish(services->stop_all("m", "u1", later())));
  EXPECT_TRUE(is_gone(pid));
  EXPECT_EQ(state(), "0 services");
  EXPECT_TRUE(fs::is_empty(places.records));
  EXPECT_TRUE(fs::is_empty(places.outputs));
}

TEST_P(ServiceScenarios, AModuleStopsItInUnprepare) {
  ASSERT_TRUE(start_with(note_pid() + "exec sleep 1000", {{"service_stop", true}}));
  ASSERT_TRUE(prepare());
  const pid_t pid = pid_in("pid");
  ASSERT_TRUE(unprepare());
  EXPECT_TRUE(is_gone(pid));
  EXPECT_TRUE(unprepare()) << "no service is left";
}

TEST_P(ServiceScenarios, OutlivesItsModule) {
  ASSERT_TRUE(start_with(note_pid() + "exec sleep 1000"));
  ASSERT_TRUE(prepare());
  const pid_t pid = pid_in("pid");
  EXPECT_TRUE(run(module->stop(soon())));
  EXPECT_TRUE(is_alive(pid));
  EXPECT_EQ(state(), fmt::format("runs as pid {}", pid));
}

TEST_P(ServiceScenarios, ARebootEndsTheMemory) {
  ASSERT_TRUE(start_with(note_pid() + "exec sleep 1000"));
  ASSERT_TRUE(prepare());
  EXPECT_THAT(ServiceRecords(places.records, "another boot").read(), IsEmpty());
  EXPECT_TRUE(fs::is_empty(places.records));
}

TEST_P(ServiceScenarios, ItsRecordIsWrittenAgainIfItIsRemoved) {
  ASSERT_TRUE(start_with(note_pid() + "exec sleep 1000"));
  ASSERT_TRUE(prepare());
  fs::remove_all(places.records);
  ASSERT_TRUE(services->restore());
  EXPECT_EQ(ServiceRecords(places.records, places.boot_id).read().size(), 1u);
}

TEST_P(ServiceScenarios, StartsAgainWhenItExits) {
  ASSERT_TRUE(start_with(note_pid() + std::string(kWait)));
  ASSERT_TRUE(prepare());
  const pid_t first = pid_in("pid");
  ::kill(first, SIGKILL);
  ASSERT_TRUE(eventually([&] { return state().starts_with("starts again"); }));
  EXPECT_EQ(state(), "starts again: its process was killed by signal 9 (Killed)");
  EXPECT_EQ(services->of_claim("u1").front().restarts, 1);
  const pid_t second = pid_in("pid", 2);
  EXPECT_NE(first, second);
  EXPECT_TRUE(eventually([&] { return state() == fmt::format("runs as pid {}", second); }));
}

TEST_P(ServiceScenarios, ARepeatedPrepareDoesNotWaitForThePause) {
  ASSERT_TRUE(start_with(note_pid() + std::string(kWait)));
  ASSERT_TRUE(prepare());
  ::kill(pid_in("pid"), SIGKILL);
  ASSERT_TRUE(eventually([&] { return state().starts_with("starts again"); }));
  const Instant before = clock.now();
  ASSERT_TRUE(prepare());
  EXPECT_LT(clock.now() - before, milliseconds(500)) << "the shortest pause";
  EXPECT_THAT(state(), StartsWith("runs"));
}

TEST_P(ServiceScenarios, OneThatExitsAtOnceFailsThePrepare) {
  ASSERT_TRUE(start_with("echo no license >&2; exit 3"));
  EXPECT_THAT(error_of_prepare(),
              HasSubstr("service 'helper' does not run: its process exited with status 3: no license"));
  EXPECT_EQ(state(), "0 services");
  write_script("exit 0");
  EXPECT_THAT(error_of_prepare(), HasSubstr("exited with status 0: a service must stay in the foreground"));
  write_script(note_pid() + "exec sleep 1000");
  EXPECT_TRUE(prepare()) << "the next prepare starts it";
}

TEST_P(ServiceScenarios, AProgramThatCannotBeExecutedIsNamed) {
  ASSERT_TRUE(start_with("", {{"service", std::vector<std::string>{"absent"}}}));
  EXPECT_THAT(error_of_prepare(), AllOf(HasSubstr("cannot execute '" + (folder / "absent").native() + "'"),
                                        HasSubstr("No such file or directory")));
  EXPECT_THAT(services->of_claim("u1"), IsEmpty());
}

TEST_P(ServiceScenarios, AProgramThatIsNotAllowedIsNotStarted) {
  ASSERT_TRUE(start_with("", {{"service", std::vector<std::string>{"rm"}}}));
  EXPECT_THAT(error_of_prepare(), HasSubstr("the module may not run 'rm': add its path to the key programs"));
}

TEST_P(ServiceScenarios, NothingRunsThatIsNotOnDisk) {
  std::ofstream(places.records).flush();  // a file in place of the folder
  ASSERT_TRUE(start_with(note_pid() + "exec sleep 1000"));
  EXPECT_THAT(error_of_prepare(), HasSubstr(places.records.native()));
  EXPECT_FALSE(fs::exists(folder / "pid"));
}

TEST_P(ServiceScenarios, OneThatIgnoresSigtermIsKilledWithAllThatItForked) {
  ASSERT_TRUE(start_with("trap '' TERM INT HUP\nsetsid sh -c 'trap \"\" TERM; echo $$ >> " +
                         (folder / "forked").native() + "; while :; do sleep 1; done' &\n" + note_pid() +
                         "while :; do sleep 1; done"));
  ASSERT_TRUE(prepare());
  const pid_t pid = pid_in("pid"), forked = pid_in("forked");
  const Instant before = clock.now();
  const auto stopped = begin(services->stop_all("m", "u1", later()));
  advance(seconds(5) - milliseconds(1));
  EXPECT_TRUE(is_alive(pid)) << "it has 5 s";
  ASSERT_TRUE(eventually([&] {
    advance(milliseconds(1));
    return stopped->has_value();
  }));
  EXPECT_GE(clock.now() - before, seconds(5));
  EXPECT_TRUE(**stopped);
  EXPECT_TRUE(is_gone(pid));
  if (places.groups.empty()) GTEST_SKIP() << "no control group can be made here: setsid escapes";
  EXPECT_TRUE(is_gone(forked));
}

TEST_P(ServiceScenarios, AnotherCommandReplacesIt) {
  ASSERT_TRUE(start_with(note_pid() + "exec sleep 1000"));
  ASSERT_TRUE(prepare());
  const pid_t first = pid_in("pid");
  EXPECT_TRUE(run(module->stop(soon())));
  ASSERT_TRUE(start_with(note_pid() + "exec sleep 2000", {{"service", std::vector<std::string>{"tool", "three"}}}));
  ASSERT_TRUE(prepare());
  const pid_t second = pid_in("pid", 2);
  EXPECT_TRUE(is_gone(first));
  EXPECT_EQ(state(), fmt::format("runs as pid {}", second));
}

TEST_P(ServiceScenarios, EachClaimHasItsOwn) {
  ASSERT_TRUE(start_with(note_pid() + "exec sleep 1000"));
  ASSERT_TRUE(prepare("u1"));
  const pid_t first = pid_in("pid");
  ASSERT_TRUE(prepare("u2"));
  const pid_t second = pid_in("pid", 2);
  EXPECT_TRUE(finish(services->stop_all("m", "u1", later())));
  EXPECT_TRUE(is_gone(first));
  EXPECT_EQ(state("u2"), fmt::format("runs as pid {}", second));
}

TEST_P(ServiceScenarios, AFloodOfOutputHoldsNothingUp) {
  ASSERT_TRUE(start_with(note_pid() + "while :; do echo flood; done"));
  ASSERT_TRUE(prepare());
  const pid_t pid = pid_in("pid");
  EXPECT_TRUE(finish(services->stop_all("m", "u1", later())));
  EXPECT_TRUE(is_gone(pid));
}

TEST_P(ServiceScenarios, ItHasNoDescriptorOfOursAndNoInput) {
  ASSERT_TRUE(start_with("ls -m /proc/self/fd > " + (folder / "open").native() + "\nwc -c >> " +
                         (folder / "open").native() + "\nexec sleep 1000"));
  ASSERT_TRUE(prepare());
  EXPECT_TRUE(eventually([&] { return read_file(folder / "open", 100) == "0, 1, 2, 3\n0\n"; }))
      << read_file(folder / "open", 100).value_or("") << "3 is the listed folder";
}

// Services that the next daemon finds.
class AdoptedServices : public ServiceScenarios {
 protected:
  AdoptedServices() : records(places.records, places.boot_id) {
    write_script(note_pid() + "exec sleep 1000");
    record.key = {"m", "u1", "helper"};
    record.command = {folder / "tool", {}, {"PATH=/usr/bin:/bin"}};
    allowed.programs = {folder / "tool"};
  }
  // Starts the program as an earlier daemon would, and keeps the record.
  void start_earlier() {
    SpawnPlan plan(STDERR_FILENO);
    record.pid = plan.run(record.command.file, {}, record.command.environment).value();
    record.begun = begin_of(record.pid);
    ASSERT_EQ(pid_in("pid"), record.pid);
    ASSERT_TRUE(records.keep(record));
  }
  void adopt(bool held) {
    services->adopt([held](const ServiceKey&) { return held; }, judge());
    settle();
  }
  // Judges by the configuration of the module.
  Services::Judge judge() const {
    return
        [this](const ServiceKey&, const ProgramCommand& command) { return ProgramRules(allowed, "/").renew(command); };
  }
  void allow(std::vector<fs::path> programs) {
    allowed.programs = std::move(programs);
    services->judge(judge());
  }
  const ServiceRecords records;
  ServiceRecord record;
  ModuleConfig allowed;
};
INSTANTIATE_TEST_SUITE_P(Isolation, AdoptedServices, ::testing::Values(Isolation::kProcess), name_of_isolation);

TEST_P(AdoptedServices, GoOn) {
  start_earlier();
  adopt(true);
  EXPECT_EQ(state(), fmt::format("runs as pid {}", record.pid));
  EXPECT_TRUE(finish(services->stop_all("m", "u1", later())));
  EXPECT_TRUE(is_gone(record.pid));
  EXPECT_THAT(records.read(), IsEmpty());
}

TEST_P(AdoptedServices, EndIfTheClaimWasReleasedMeanwhile) {
  start_earlier();
  adopt(false);
  EXPECT_TRUE(is_gone(record.pid));
  EXPECT_TRUE(eventually([&] { return services->of_claim("u1").empty(); }));
  EXPECT_THAT(records.read(), IsEmpty());
}

TEST_P(AdoptedServices, EndIfTheirModuleMayNotRunThemAnyMore) {
  start_earlier();
  allowed.programs.clear();
  adopt(true);
  EXPECT_TRUE(is_gone(record.pid));
  const std::string why = "the module may not run '" + record.command.file.native() +
                          "': add its path to the key programs of its [[module]]";
  EXPECT_TRUE(eventually([&] { return state() == "stopped: " + why; })) << state();
  EXPECT_EQ(services->check("u1").error().message, "service 'helper' of module 'm' is stopped: " + why);
  EXPECT_TRUE(services->check("u2"));
  EXPECT_THAT(services->refusals(), SizeIs(1));
  EXPECT_THAT(records.read(), SizeIs(1)) << "the claim is still held";
  EXPECT_TRUE(finish(services->stop_all("m", "u1", later())));
  EXPECT_THAT(records.read(), IsEmpty());
  EXPECT_THAT(services->refusals(), IsEmpty());
}

TEST_P(AdoptedServices, AreNotStartedIfTheirModuleMayNotRunThemAnyMore) {
  ASSERT_TRUE(records.keep(record));
  allowed.programs.clear();
  adopt(true);
  EXPECT_THAT(state(), StartsWith("stopped: "));
  advance(std::chrono::minutes(10));
  EXPECT_FALSE(fs::exists(folder / "pid"));
}

TEST_P(AdoptedServices, EndAndStartAgainAsTheConfigurationChanges) {
  start_earlier();
  adopt(true);
  allow({});
  EXPECT_TRUE(is_gone(record.pid));
  EXPECT_TRUE(eventually([&] { return state().starts_with("stopped: "); })) << state();
  allow({folder / "tool"});
  const pid_t next = pid_in("pid", 2);
  EXPECT_TRUE(eventually([&] { return state() == fmt::format("runs as pid {}", next); })) << state();
  EXPECT_TRUE(services->check("u1"));
}

TEST_P(AdoptedServices, AVariableThatIsNotAllowedAnyMoreEndsThem) {
  record.command.environment.emplace_back("LEVEL=1");
  start_earlier();
  adopt(true);
  EXPECT_THAT(state(), StartsWith("runs"));
  allowed.process.seccomp = true;
  services->judge(judge());
  EXPECT_TRUE(is_gone(record.pid));
  EXPECT_TRUE(eventually([&] { return state().contains("may not set 'LEVEL' for a program"); })) << state();
}

TEST_P(AdoptedServices, ThePathOfAnEarlierDaemonIsNoReasonToStartThemAgain) {
  start_earlier();
  adopt(true);
  const ProgramCommand now = ProgramRules(allowed, "/").renew(record.command).value();
  EXPECT_TRUE(finish(services->start(record.key, now, later())));
  EXPECT_EQ(state(), fmt::format("runs as pid {}", record.pid));
}

TEST_P(AdoptedServices, StartAgainIfTheyHaveEnded) {
  start_earlier();
  ::kill(record.pid, SIGKILL);
  ASSERT_EQ(::waitpid(record.pid, nullptr, 0), record.pid);
  adopt(true);
  const pid_t next = pid_in("pid", 2);
  EXPECT_NE(next, record.pid);
  EXPECT_EQ(state(), fmt::format("runs as pid {}", next));
}

TEST_P(AdoptedServices, NoOtherProcessIsTakenForOne) {
  record.pid = ::getpid();  // as if the kernel had reused the pid
  record.begun = "1";
  ASSERT_TRUE(records.keep(record));
  adopt(true);
  EXPECT_EQ(state(), fmt::format("runs as pid {}", pid_in("pid")));
}

// Every process in the group of an ended service is killed, so a foreign group must not count as one.
TEST_P(AdoptedServices, AGroupThatTheDaemonDidNotMakeIsLeftAlone) {
  record.group = folder / "user.slice";
  fs::create_directory(record.group);
  std::ofstream(record.group / "cgroup.kill") << std::flush;
  record.pid = 1;
  ASSERT_TRUE(records.keep(record));
  adopt(true);
  EXPECT_EQ(state(), fmt::format("runs as pid {}", pid_in("pid")));
  EXPECT_EQ(read_file(record.group / "cgroup.kill", 1), "");
}

TEST_P(AdoptedServices, AModuleHasFewOfThemForAClaim) {
  for (int i = 0; i < 16; ++i) {
    record.key.name = fmt::format("helper-{}", i);
    ASSERT_TRUE(records.keep(record));
  }
  adopt(true);
  const auto refused = finish(services->start({"m", "u1", "one-more"}, record.command, later()));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "a module has at most 16 services for a claim");
}

TEST_P(AdoptedServices, ADamagedRecordIsRemoved) {
  ASSERT_TRUE(records.keep(record));
  for (const auto& file : fs::directory_iterator(places.records))
    std::ofstream(file.path()) << "{\"boot\": 1" << std::flush;
  EXPECT_THAT(records.read(), IsEmpty());
  EXPECT_TRUE(fs::is_empty(places.records));
}

TEST_P(AdoptedServices, ARecordKeepsBytesThatAreNotText) {
  record.command.arguments = {std::string("\xff\n\"\x01", 4), ""};
  ASSERT_TRUE(records.keep(record));
  ASSERT_THAT(records.read(), SizeIs(1));
  EXPECT_EQ(records.read().front().command, record.command);
}

}  // namespace
}  // namespace cardcage
