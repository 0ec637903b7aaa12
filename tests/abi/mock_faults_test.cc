// How the mock misbehaves on demand, by options and by script.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sched.h>
#include <signal.h>
#include <sys/time.h>

#include <filesystem>
#include <fstream>

#include "tests/abi/raw_host.h"
#include "tests/fakes/scratch_folder.h"

namespace cardcage::raw {
namespace {

using namespace std::chrono_literals;
using testing::Contains;
using testing::HasSubstr;
using testing::Pair;
using Strings = std::vector<std::string>;

constexpr std::int64_t kMinute = 60'000'000'000;

const cage_module* mock() {
  static const cage_module* module = open_module(CARDCAGE_MOCK);
  return module;
}

std::size_t threads() {
  return static_cast<std::size_t>(
      std::distance(std::filesystem::directory_iterator("/proc/self/task"), std::filesystem::directory_iterator()));
}

// Open descriptors that a program started by the host would not inherit, and those that it would.
std::pair<std::size_t, std::size_t> descriptors() {
  std::pair<std::size_t, std::size_t> found;
  for (int fd = 0; fd < 256; ++fd) {
    const int flags = ::fcntl(fd, F_GETFD);
    if (flags >= 0) ++((flags & FD_CLOEXEC) != 0 ? found.first : found.second);
  }
  return found;
}

TEST(MockEtiquette, leaves_no_thread_and_no_descriptor_behind) {
  const ScratchFolder folder;
  const std::map<std::string, Value> options = {{"mount_dir", folder.path().string()},
                                                {"script_file", (folder / "s").string()}};
  {
    const Instance first(mock(), options);
  }  // after which the sanitizers have their own threads, too
  const auto before = descriptors();
  const std::size_t threads_before = threads();
  {
    const Instance instance(mock(), options);
    ASSERT_EQ(instance.started, CAGE_OK);
    EXPECT_GT(threads(), threads_before);
    EXPECT_GT(descriptors().first, before.first);
    EXPECT_EQ(descriptors().second, before.second);
  }
  EXPECT_EQ(descriptors(), before);
  // The kernel may list a thread for a moment after it was joined.
  const auto patience = std::chrono::steady_clock::now() + 5s;
  while (threads() > threads_before && std::chrono::steady_clock::now() < patience) ::sched_yield();
  EXPECT_EQ(threads(), threads_before);
}

TEST(MockEtiquette, a_create_that_fails_leaves_nothing_open) {
  const ScratchFolder folder;
  mock();
  const auto before = descriptors();
  const Instance instance(mock(), {{"mount_dir", folder.path().string()}, {"script", Strings{"dance"}}});
  EXPECT_EQ(instance.created, CAGE_INVALID_ARGUMENT);
  EXPECT_EQ(descriptors(), before);
}

TEST(MockFaults, a_delay_ends_at_the_deadline) {
  Instance instance(mock(), {{"prepare_delay", kMinute}});
  Edits edits;
  const Claim claim("uid-1", {{.device = "gpu-0"}});
  const Call call(5ms);
  EXPECT_EQ(mock()->prepare(instance.get(), call.get(), claim.get(), edits.get()), CAGE_DEADLINE_EXCEEDED);
  EXPECT_THAT(call.explanation, HasSubstr("deadline"));
  EXPECT_TRUE(edits.lines.empty());
}

TEST(MockFaults, a_delay_ends_when_the_call_is_cancelled) {
  Instance instance(mock(), {{"unprepare_delay", kMinute}, {"discover_delay", kMinute}});
  Call call;
  call.cancel();
  const Claim claim("uid-1", {{.device = "gpu-0"}});
  Snapshot snapshot;
  EXPECT_EQ(mock()->unprepare(instance.get(), call.get(), claim.get()), CAGE_CANCELLED);
  EXPECT_EQ(mock()->discover(instance.get(), call.get(), snapshot.get()), CAGE_CANCELLED);
}

TEST(MockFaults, a_short_delay_only_takes_time) {
  Instance instance(mock(), {{"prepare_delay", std::int64_t{2'000'000}}});
  Edits edits;
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(instance.prepare(Claim("uid-1", {{.device = "gpu-0"}}), edits), CAGE_OK);
  EXPECT_GE(std::chrono::steady_clock::now() - start, 2ms);
}

TEST(MockFaults, named_devices_fail_and_others_do_not) {
  Instance instance(mock(), {{"fail_prepare", Strings{"gpu-1 no power in slot 3", "gpu-2"}},
                             {"fail_unprepare", Strings{"gpu-3 does not drain"}}});
  Edits edits;
  EXPECT_EQ(instance.prepare(Claim("a", {{.device = "gpu-0"}, {.device = "gpu-1"}}), edits), CAGE_INTERNAL);
  EXPECT_EQ(instance.explanation, "device 'gpu-1': no power in slot 3");
  EXPECT_EQ(instance.prepare(Claim("b", {{.device = "gpu-2"}}), edits), CAGE_INTERNAL);
  EXPECT_EQ(instance.prepare(Claim("c", {{.device = "gpu-3"}}), edits), CAGE_OK);
  EXPECT_EQ(instance.unprepare(Claim("c", {{.device = "gpu-3"}}, edits.state)), CAGE_INTERNAL);
  EXPECT_EQ(instance.explanation, "device 'gpu-3': does not drain");
}

TEST(MockFaults, whole_calls_fail_with_the_given_text) {
  const Instance refused(mock(), {{"fail_create", "license server is down"}});
  EXPECT_EQ(refused.created, CAGE_INTERNAL);
  EXPECT_EQ(refused.explanation, "license server is down");
  Instance blind(mock(), {{"fail_discover", "bus error"}, {"fail_prepare", Strings{"* all is lost"}}});
  EXPECT_TRUE(blind.discover(CAGE_INTERNAL)->devices.empty());
  EXPECT_EQ(blind.explanation, "bus error");
  Edits edits;
  EXPECT_EQ(blind.prepare(Claim("a", {}), edits), CAGE_INTERNAL);
  EXPECT_EQ(blind.explanation, "all is lost");
}

TEST(MockFaults, a_rule_without_a_device_is_refused) {
  const Instance instance(mock(), {{"fail_prepare", Strings{"  "}}});
  EXPECT_EQ(instance.created, CAGE_INVALID_ARGUMENT);
  EXPECT_THAT(instance.explanation, HasSubstr("'fail_prepare'"));
}

TEST(MockFaultsDeathTest, crash_aborts_the_process) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto crash = [] {
    Instance instance(mock(), {{"crash", "discover"}});
    instance.discover();
  };
  EXPECT_EXIT(crash(), testing::KilledBySignal(SIGABRT), "");
}

TEST(MockFaultsDeathTest, hang_ignores_even_the_cancellation) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto hang = [] {
    Instance instance(mock(), {{"hang", "prepare"}});
    Call call(0ns);
    call.cancel();
    const itimerval soon = {.it_interval = {}, .it_value = {.tv_sec = 0, .tv_usec = 50'000}};
    ::setitimer(ITIMER_REAL, &soon, nullptr);
    const Claim claim("uid-1", {});
    Edits edits;
    mock()->prepare(instance.get(), call.get(), claim.get(), edits.get());
  };
  EXPECT_EXIT(hang(), testing::KilledBySignal(SIGALRM), "");
}

TEST(MockScript, health_changes_are_told_and_shown) {
  Instance instance(mock(), {{"script", Strings{"1ms health gpu-1 bad XidError Xid 79 fell off the bus",
                                                "health gpu-2 unknown", "2ms health gpu-2 ok"}}});
  ASSERT_EQ(instance.started, CAGE_OK) << instance.explanation;
  ASSERT_TRUE(instance.host.wait_until([&] { return instance.host.healths.size() == 3; }));
  const SaidHealth bad{CAGE_HEALTH_BAD, "XidError", "Xid 79 fell off the bus", CAGE_TAINT_NO_SCHEDULE};
  EXPECT_THAT(instance.host.healths,
              testing::ElementsAre(Pair("gpu-2", SaidHealth{}), Pair("gpu-1", bad),
                                   Pair("gpu-2", SaidHealth{CAGE_HEALTH_OK, "", "", CAGE_TAINT_NONE})));
  EXPECT_EQ(instance.discover()->devices.at("gpu-1").health, bad);
  EXPECT_EQ(instance.check("gpu-1"), CAGE_OK);
  EXPECT_THAT(instance.host.healths.back(), Pair("gpu-1", bad));
}

TEST(MockScript, removed_devices_leave_the_snapshot_and_come_back) {
  const ScratchFolder folder;
  Instance instance(mock(), {{"partitions", std::int64_t{2}},
                             {"script", Strings{"remove gpu-2"}},
                             {"script_file", (folder / "script").string()}});
  ASSERT_TRUE(instance.host.wait_until([&] { return instance.host.rescans == 1; }));
  const auto snapshot = instance.discover();
  EXPECT_FALSE(snapshot->devices.contains("gpu-2"));
  EXPECT_FALSE(snapshot->devices.contains("gpu-2-part-0"));
  EXPECT_FALSE(snapshot->counter_sets.contains("gpu-2"));
  Edits edits;
  EXPECT_EQ(instance.prepare(Claim("a", {{.device = "gpu-2"}}), edits), CAGE_NOT_FOUND);
  EXPECT_EQ(instance.check("gpu-2"), CAGE_NOT_FOUND);
  std::ofstream(folder / "script") << "add gpu-2\n";
  ASSERT_TRUE(instance.host.wait_until([&] { return instance.host.rescans == 2; }));
  EXPECT_TRUE(instance.discover()->devices.contains("gpu-2"));
}

TEST(MockScript, a_bad_line_is_refused_at_create) {
  for (const char* line : {"dance", "", "health", "health gpu-99 ok", "health gpu-0 fine", "2 health gpu-0 ok", "add",
                           "fail", "fail dance gpu-0", "fail prepare", "delay prepare soon", "crash now", "hang x"}) {
    const Instance instance(mock(), {{"script", Strings{line}}});
    EXPECT_EQ(instance.created, CAGE_INVALID_ARGUMENT) << line;
    EXPECT_THAT(instance.explanation, HasSubstr("'script'")) << line;
  }
}

TEST(MockScript, a_running_module_is_driven_through_the_file) {
  const ScratchFolder folder;
  const auto path = folder / "script";
  std::ofstream(path) << "# what happened before\nhealth gpu-0 bad Fan stuck\ncrash\n";
  Instance instance(mock(), {{"script_file", path.string()}});
  ASSERT_EQ(instance.started, CAGE_OK) << instance.explanation;
  ASSERT_TRUE(instance.host.wait_until([&] { return instance.host.healths.size() == 1; }));
  std::ofstream(path, std::ios::app) << "health gpu-1 bad Fan stuck" << std::flush << "\nnonsense\n";
  ASSERT_TRUE(instance.host.wait_until([&] { return instance.host.healths.size() == 2; }));
  const auto complained = [&] {
    return std::ranges::any_of(instance.host.logs,
                               [](const std::string& line) { return line.starts_with("script_file: 'nonsense'"); });
  };
  ASSERT_TRUE(instance.host.wait_until(complained));

  // Another file of that name is read from its start.
  std::ofstream(folder / "other") << "health gpu-2 bad Fan stuck\n";
  std::filesystem::rename(folder / "other", path);
  ASSERT_TRUE(instance.host.wait_until([&] { return instance.host.healths.size() == 3; }));
  EXPECT_EQ(instance.host.healths.back().first, "gpu-2");
}

TEST(MockScript, faults_come_and_go) {
  const ScratchFolder folder;
  const auto path = folder / "script";
  Instance instance(mock(), {{"script_file", path.string()}});
  const auto run = [&](const std::string& line) {
    const int before = instance.host.rescans;
    std::ofstream(path, std::ios::app) << line << "\nrescan\n";
    return instance.host.wait_until([&] { return instance.host.rescans == before + 1; });
  };
  Edits edits;
  ASSERT_TRUE(run("fail prepare gpu-0 no power"));
  EXPECT_EQ(instance.prepare(Claim("a", {{.device = "gpu-0"}}), edits), CAGE_INTERNAL);
  ASSERT_TRUE(run("heal prepare"));
  EXPECT_EQ(instance.prepare(Claim("a", {{.device = "gpu-0"}}), edits), CAGE_OK);
  ASSERT_TRUE(run("delay unprepare 1m"));
  const Call call(1ms);
  const Claim claim("a", {});
  EXPECT_EQ(mock()->unprepare(instance.get(), call.get(), claim.get()), CAGE_DEADLINE_EXCEEDED);
}

TEST(MockScript, a_start_and_a_choice_can_fail_too) {
  Instance instance(mock(),
                    {{"script", Strings{"fail pre_start gpu-0 does not reset", "fail choose * no mood", "rescan"}}});
  ASSERT_TRUE(instance.host.wait_until([&] { return instance.host.rescans == 1; }));
  Edits edits;
  const Claim claim("a", {{.device = "gpu-0"}});
  ASSERT_EQ(instance.prepare(claim, edits), CAGE_OK);
  const Call call;
  const auto* start = static_cast<const cage_pre_start*>(mock()->extension(CAGE_EXT_PRE_START));
  EXPECT_EQ(start->pre_start(instance.get(), call.get(), claim.get()), CAGE_INTERNAL);
  EXPECT_EQ(call.explanation, "device 'gpu-0': does not reset");
  const auto* preferred = static_cast<const cage_preferred*>(mock()->extension(CAGE_EXT_PREFERRED));
  EXPECT_EQ(preferred->choose(instance.get(), call.get(), nullptr, 0, nullptr, 0, 0, nullptr), CAGE_INTERNAL);
  EXPECT_EQ(call.explanation, "no mood");
}

TEST(MockScript, a_file_in_a_folder_that_is_not_there_fails_start) {
  const Instance instance(mock(), {{"script_file", "/nonexistent/script"}});
  EXPECT_EQ(instance.started, CAGE_FAILED_PRECONDITION);
  EXPECT_THAT(instance.explanation, HasSubstr("/nonexistent/script"));
  const Instance relative(mock(), {{"script_file", "script"}});
  EXPECT_EQ(relative.started, CAGE_FAILED_PRECONDITION);
}

TEST(MockScriptDeathTest, crash_needs_no_call) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto crash = [] {
    Instance instance(mock(), {{"script", Strings{"crash"}}});
    instance.host.wait_until([] { return false; });
  };
  EXPECT_EXIT(crash(), testing::KilledBySignal(SIGABRT), "");
}

}  // namespace
}  // namespace cardcage::raw
