// cage.exec in both isolations, with real programs: shell scripts that the tests write.
#include <signal.h>

#include "host/core/file.h"
#include "host/process/child_process.h"
#include "tests/fakes/built_files.h"
#include "tests/fakes/proc.h"
#include "tests/unit/module/scenario_fixture.h"

namespace cardcage {
namespace {

namespace fs = std::filesystem;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class ExecScenarios : public ScenarioFixture {
 protected:
  ExecScenarios() { modules_dir = built_modules(); }
  // Starts the module, which may run `tool`, a shell script with this text.
  Status start_with(const std::string& script, Options options = {}) {
    std::ofstream(folder / "tool") << "#!/bin/sh\n" << script << "\n" << std::flush;
    fs::permissions(folder / "tool", fs::perms::owner_all);
    options.try_emplace("exec", std::vector<std::string>{"tool", "one", "two"});
    ModuleConfig wanted = config("libcardcage_mock.so", options);
    wanted.programs = {folder / "tool", folder / "absent", "/bin/ls"};
    auto loaded = load(wanted);
    if (!loaded) return std::unexpected(loaded.error());
    module = *loaded;
    return run(module->start(events(), soon()));
  }
  Result<PreparedEdits> prepare() { return run(module->call(PrepareCall{claim("u1", {"gpu-0"})}, soon())); }
  std::string outcome() {
    const auto prepared = prepare();
    if (!prepared) return prepared.error().message;
    const auto found = std::ranges::find(prepared->claim.env, "MOCK_EXEC", &EnvVar::name);
    return found == prepared->claim.env.end() ? "was not run" : found->value;
  }
  // The pid that a script wrote into the file `name`.
  pid_t pid_in(const std::string& name) {
    EXPECT_TRUE(eventually([&] { return !read_file(folder / name, 100).value_or("").empty(); })) << name;
    return static_cast<pid_t>(std::strtol(read_file(folder / name, 100).value_or("0").c_str(), nullptr, 10));
  }
  bool is_gone(pid_t pid) {
    return eventually([&] { return ::kill(pid, 0) != 0 || hold_of(pid).contains("state Z"); });
  }
};

INSTANTIATE_TEST_SUITE_P(Isolation, ExecScenarios, ::testing::Values(Isolation::kInProcess, Isolation::kProcess),
                         name_of_isolation);

TEST_P(ExecScenarios, RunsAProgramWithItsArgumentsAndEnvironment) {
  ASSERT_TRUE(start_with("echo \"$# $2 $PATH $(env | wc -l) $(cat | wc -c)\"; echo wrong >&2; exit 7"));
  // The shell sets PWD, OLDPWD or _ by itself, but the daemon's environment is not passed on.
  EXPECT_THAT(outcome(), StartsWith("exit 7: 2 two /usr/sbin:/usr/bin:/sbin:/bin "));
}

TEST_P(ExecScenarios, AProgramHasNoDescriptorOfOurs) {
  ASSERT_TRUE(start_with("", {{"exec", std::vector<std::string>{"ls", "-m", "/proc/self/fd"}}}));
  EXPECT_EQ(outcome(), "exit 0: 0, 1, 2, 3") << "3 is the listed folder";
}

TEST_P(ExecScenarios, ASignalIsReported) {
  ASSERT_TRUE(start_with("kill -SEGV $$"));
  EXPECT_EQ(outcome(), "signal 11: ");
}

TEST_P(ExecScenarios, AProgramThatIsNotAllowedIsNotRun) {
  ASSERT_TRUE(start_with("echo", {{"exec", std::vector<std::string>{"rm", "-rf", "/nowhere"}}}));
  EXPECT_THAT(outcome(), HasSubstr("the module may not run 'rm': add its path to the key programs of its [[module]]"));
}

TEST_P(ExecScenarios, AProgramThatDoesNotStartIsNamed) {
  ASSERT_TRUE(start_with("echo", {{"exec", std::vector<std::string>{"absent"}}}));
  EXPECT_THAT(outcome(), AllOf(HasSubstr("cannot start '" + (folder / "absent").native() + "'"),
                               HasSubstr("No such file or directory")));
}

TEST_P(ExecScenarios, NothingOfALongOutputIsLost) {
  const auto lines = folder / "lines";
  std::ofstream(lines) << std::string(99, 'a') << std::string(400'000, 'b') << std::flush;
  ASSERT_TRUE(start_with("exec cat " + lines.native()));
  for (int i = 0; i < 20; ++i) EXPECT_EQ(outcome(), "exit 0 of 400099 bytes: " + std::string(99, 'a') + "b");
}

TEST_P(ExecScenarios, LongOutputIsCut) {
  ASSERT_TRUE(start_with("head -c 3000000 /dev/zero | tr '\\0' 'x'"));
  EXPECT_EQ(outcome(), "exit 0 with more output of 1048576 bytes: " + std::string(100, 'x'));
}

TEST_P(ExecScenarios, AProgramIsKilledAtItsLimitWhateverItIgnores) {
  ASSERT_TRUE(start_with(
      "trap '' TERM INT HUP; echo begun; echo $$ > " + (folder / "pid").native() + "; while :; do sleep 1; done",
      {{"exec_limit", "5s"}}));
  const auto prepared = begin(module->call(PrepareCall{claim("u1", {"gpu-0"})}, soon()));
  const pid_t pid = pid_in("pid");
  EXPECT_FALSE(prepared->has_value());
  advance(seconds(5));
  ASSERT_TRUE(eventually([&] { return prepared->has_value(); }));
  ASSERT_TRUE(**prepared) << (**prepared).error().message;
  EXPECT_THAT((**prepared)->claim.env, Contains(EnvVar{"MOCK_EXEC", "signal 9 after its limit: begun"}));
  EXPECT_TRUE(is_gone(pid));
}

TEST_P(ExecScenarios, WhatAProgramForksEndsWithItAndDoesNotHoldTheCall) {
  ASSERT_TRUE(start_with("sleep 0.1; setsid sh -c 'echo $$ > " + (folder / "pid").native() +
                         "; sleep 60' & sleep 0.3; echo done"));
  EXPECT_EQ(outcome(), "exit 0: done");
  if (groups.make("probe") == nullptr) GTEST_SKIP() << "no control group can be made here: setsid escapes";
  EXPECT_TRUE(is_gone(pid_in("pid")));
}

TEST_P(ExecScenarios, ACallThatNobodyWaitsForRunsNoProgram) {
  const auto script = folder / "script";
  ASSERT_TRUE(
      start_with("touch " + (folder / "ran").native(), {{"hang", "prepare"}, {"script_file", script.native()}}));
  const auto late = begin(module->call(PrepareCall{claim("u1", {"gpu-0"})}, clock.now() + seconds(1)));
  advance(seconds(1));
  ASSERT_TRUE(late->has_value());
  std::ofstream(script) << "heal prepare\n" << std::flush;
  EXPECT_TRUE(run(module->finish_calls(soon())));
  EXPECT_FALSE(fs::exists(folder / "ran"));
}

class ExecInWorker : public ExecScenarios {};
INSTANTIATE_TEST_SUITE_P(Isolation, ExecInWorker, ::testing::Values(Isolation::kProcess), name_of_isolation);

TEST_P(ExecInWorker, AProgramEndsWithItsInstance) {
  ASSERT_TRUE(start_with("echo $$ > " + (folder / "pid").native() + "; echo $PPID > " + (folder / "parent").native() +
                         "; sleep 60"));
  const auto prepared = begin(module->call(PrepareCall{claim("u1", {"gpu-0"})}, soon()));
  const pid_t pid = pid_in("pid");
  EXPECT_EQ(pid_in("parent"), ::getpid()) << "the daemon's child, not the worker's";
  for (const pid_t worker : proc::workers(::getpid())) ::kill(worker, SIGKILL);
  EXPECT_TRUE(is_gone(pid));
  EXPECT_TRUE(eventually([&] { return lost.has_value(); }));
}

}  // namespace
}  // namespace cardcage
