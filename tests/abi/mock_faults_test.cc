// Faults of the mock, by options and by script.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/time.h>

#include <filesystem>
#include <fstream>

#include "sim/scratch_folder.h"
#include "tests/abi/raw_host.h"
#include "tests/fakes/eventually.h"

namespace cardcage::raw {
namespace {

using namespace std::chrono_literals;
using testing::Contains;
using testing::HasSubstr;
using testing::Pair;
using Strings = std::vector<std::string>;

constexpr std::int64_t kMinute = 60'000'000'000;

std::size_t threads() {
  return static_cast<std::size_t>(
      std::distance(std::filesystem::directory_iterator("/proc/self/task"), std::filesystem::directory_iterator()));
}

// The numbers of open descriptors with and without FD_CLOEXEC.
std::pair<std::size_t, std::size_t> descriptors() {
  std::pair<std::size_t, std::size_t> found;
  for (int fd = 0; fd < 256; ++fd) {
    const int flags = ::fcntl(fd, F_GETFD);
    if (flags >= 0) ++((flags & FD_CLOEXEC) != 0 ? found.first : found.second);
  }
  return found;
}

TEST(MockEtiquette, LeavesNoThreadAndNoDescriptorBehind) {
  const ScratchFolder folder;
  const std::map<std::string, Value> options = {{"mount_dir", folder.path().string()},
                                                {"script_file", (folder / "s").string()}};
  {
    const Instance first(mock(), options);
  }  // starts the sanitizers' own threads as well
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
  // The kernel may list a joined thread for another moment.
  EXPECT_TRUE(eventually([&] { return threads() == threads_before; })) << threads() << ", not " << threads_before;
}

TEST(MockEtiquette, ACreateThatFailsLeavesNothingOpen) {
  const ScratchFolder folder;
  mock();
  const auto before = descriptors();
  const Instance instance(mock(), {{"mount_dir", folder.path().string()}, {"script", Strings{"dance"}}});
  EXPECT_EQ(instance.created, CAGE_INVALID_ARGUMENT);
  EXPECT_EQ(descriptors(), before);
}

TEST(MockFaults, ADelayEndsAtTheDeadline) {
  Instance instance(mock(), {{"prepare_delay", kMinute}});
  Edits edits;
  const Claim claim("uid-1", {{.device = "gpu-0"}});
  const Call call(5ms);
  EXPECT_EQ(mock()->prepare(instance.get(), call.get(), claim.get(), edits.get()), CAGE_DEADLINE_EXCEEDED);
  EXPECT_THAT(call.explanation, HasSubstr("deadline"));
  EXPECT_TRUE(edits.lines.empty());
}

TEST(MockFaults, ADelayEndsWhenTheCallIsCancelled) {
  Instance instance(mock(), {{"unprepare_delay", kMinute}, {"discover_delay", kMinute}});
  Call call;
  call.cancel();
  const Claim claim("uid-1", {{.device = "gpu-0"}});
  Snapshot snapshot;
  EXPECT_EQ(mock()->unprepare(instance.get(), call.get(), claim.get()), CAGE_CANCELLED);
  EXPECT_EQ(mock()->discover(instance.get(), call.get(), snapshot.get()), CAGE_CANCELLED);
}

TEST(MockFaults, AShortDelayOnlyTakesTime) {
  Instance instance(mock(), {{"prepare_delay", std::int64_t{2'000'000}}});
  Edits edits;
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(instance.prepare(Claim("uid-1", {{.device = "gpu-0"}}), edits), CAGE_OK);
  EXPECT_GE(std::chrono::steady_clock::now() - start, 2ms);
}

TEST(MockFaults, NamedDevicesFailAndOthersDoNot) {
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

TEST(MockFaults, AllCallsCanFailWithTheGivenText) {
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

TEST(MockFaults, ARuleWithoutADeviceIsRefused) {
  const Instance instance(mock(), {{"fail_prepare", Strings{"  "}}});
  EXPECT_EQ(instance.created, CAGE_INVALID_ARGUMENT);
  EXPECT_THAT(instance.explanation, HasSubstr("'fail_prepare'"));
}

TEST(MockFaultsDeathTest, CrashAbortsTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto crash = [] {
    Instance instance(mock(), {{"crash", "discover"}});
    instance.discover();
  };
  EXPECT_EXIT(crash(), testing::KilledBySignal(SIGABRT), "");
}

TEST(MockFaultsDeathTest, HangIgnoresEvenTheCancellation) {
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

TEST(MockScript, HealthChangesAreReportedAndAppearInTheSnapshot) {
  Instance instance(mock(), {{"script", Strings{"1ms health gpu-1 bad XidError Xid 79 fell off the bus",
                                                "health gpu-2 unknown", "2ms health gpu-2 ok"}}});
  ASSERT_EQ(instance.started, CAGE_OK) << instance.explanation;
  ASSERT_TRUE(instance.host.wait_until([&] { return instance.host.healths.size() == 3; }));
  const ReportedHealth bad{CAGE_HEALTH_BAD, "XidError", "Xid 79 fell off the bus", CAGE_TAINT_NO_SCHEDULE};
  EXPECT_THAT(instance.host.healths,
              testing::ElementsAre(Pair("gpu-2", ReportedHealth{}), Pair("gpu-1", bad),
                                   Pair("gpu-2", ReportedHealth{CAGE_HEALTH_OK, "", "", CAGE_TAINT_NONE})));
  EXPECT_EQ(instance.discover()->devices.at("gpu-1").health, bad);
  EXPECT_EQ(instance.check("gpu-1"), CAGE_OK);
  EXPECT_THAT(instance.host.healths.back(), Pair("gpu-1", bad));
}

TEST(MockScript, EachCauseOfHealthHasItsStatement) {
  Instance instance(mock(), {{"script", Strings{"health gpu-1 bad cause=Ecc taint=example.com/ecc=bank-3:NoExecute Dbe "
                                                "bank 3",
                                                "health gpu-1 bad cause=Xid taint=inform Xid31",
                                                "health gpu-1 unmonitored cause=Link"}}});
  ASSERT_EQ(instance.started, CAGE_OK) << instance.explanation;
  ASSERT_TRUE(instance.host.wait_until([&] { return instance.host.healths.size() == 3; }));
  const ReportedHealth ecc{CAGE_HEALTH_BAD, "Dbe", "bank 3", CAGE_TAINT_NO_EXECUTE, "Ecc", "example.com/ecc", "bank-3"};
  const ReportedHealth link{CAGE_HEALTH_UNMONITORED, "", "", CAGE_TAINT_NONE, "Link"};
  const ReportedHealth xid{CAGE_HEALTH_BAD, "Xid31", "", CAGE_TAINT_INFORM, "Xid"};
  EXPECT_THAT(instance.host.healths, testing::ElementsAre(Pair("gpu-1", ecc), Pair("gpu-1", xid), Pair("gpu-1", link)));
  EXPECT_EQ(instance.discover()->devices.at("gpu-1").health, (ReportedHealth{CAGE_HEALTH_OK, "", "", CAGE_TAINT_NONE}))
      << "a snapshot has one statement";
  instance.host.healths.clear();
  EXPECT_EQ(instance.check("gpu-1"), CAGE_OK);
  EXPECT_THAT(instance.host.healths, testing::UnorderedElementsAre(Pair("gpu-1", ecc), Pair("gpu-1", link)))
      << "an event is stated once";
}

cage_status reset(Instance& instance, std::string_view device) {
  const Call call;
  const auto* family = static_cast<const cage_reset*>(mock()->extension(CAGE_EXT_RESET));
  const cage_status status = family->reset(instance.get(), call.get(), str(device));
  instance.explanation = call.explanation;
  return status;
}

TEST(MockReset, EndsEachCauseOfTheDeviceAndOfItsPartitions) {
  Instance instance(mock(), {{"partitions", std::int64_t{2}},
                             {"script", Strings{"health gpu-1 ok cause=Temperature value=96.5",
                                                "health gpu-1-part-0 bad cause=Ecc Dbe bank 3"}}});
  ASSERT_TRUE(instance.host.wait_until([&] { return instance.host.healths.size() == 2; }));
  EXPECT_THAT(instance.host.healths[0],
              Pair("gpu-1", ReportedHealth{CAGE_HEALTH_OK, "", "", CAGE_TAINT_NONE, "Temperature", "", "", 96.5}));
  instance.host.healths.clear();
  EXPECT_EQ(reset(instance, "gpu-1"), CAGE_OK) << instance.explanation;
  const auto ok = [](const char* cause) { return ReportedHealth{CAGE_HEALTH_OK, "", "", CAGE_TAINT_NONE, cause}; };
  EXPECT_THAT(instance.host.healths,
              testing::ElementsAre(Pair("gpu-1", ok("Temperature")), Pair("gpu-1-part-0", ok("Ecc")),
                                   Pair("gpu-1-part-1", ok(""))));
  EXPECT_EQ(reset(instance, "gpu-1"), CAGE_OK);
  EXPECT_THAT(instance.host.logs, testing::Contains("reset of gpu-1, number 2 since the start"));
}

TEST(MockReset, FailsWhenToldTo) {
  Instance instance(mock(), {{"partitions", std::int64_t{2}},
                             {"script", Strings{"fail reset gpu-1 the firmware is dead", "remove gpu-2"}}});
  ASSERT_TRUE(instance.host.wait_until([&] { return instance.host.rescans == 1; }));
  EXPECT_EQ(reset(instance, "gpu-1"), CAGE_INTERNAL);
  EXPECT_THAT(instance.explanation, HasSubstr("the firmware is dead"));
  EXPECT_EQ(reset(instance, "gpu-2"), CAGE_NOT_FOUND);
  EXPECT_EQ(reset(instance, "gpu-0-part-0"), CAGE_UNIMPLEMENTED);
  EXPECT_EQ(instance.explanation, "device 'gpu-0-part-0' is a partition; reset 'gpu-0'");
  EXPECT_EQ(reset(instance, "gpu-0"), CAGE_OK);
}

TEST(MockScript, RemovedDevicesLeaveTheSnapshotAndComeBack) {
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

TEST(MockScript, ABadLineIsRefusedAtCreate) {
  for (const char* line :
       {"dance", "", "health", "health gpu-99 ok", "health gpu-0 fine", "health gpu-0 bad taint=Never",
        "health gpu-0 bad taint=a/b:", "health gpu-0 ok value=hot", "health gpu-0 ok value=", "2 health gpu-0 ok",
        "add", "fail", "fail dance gpu-0", "fail prepare", "delay prepare soon", "crash now", "hang x"}) {
    const Instance instance(mock(), {{"script", Strings{line}}});
    EXPECT_EQ(instance.created, CAGE_INVALID_ARGUMENT) << line;
    EXPECT_THAT(instance.explanation, HasSubstr("'script'")) << line;
  }
}

TEST(MockScript, ARunningModuleIsDrivenThroughTheFile) {
  const ScratchFolder folder;
  const auto path = folder / "script";
  std::ofstream(path) << "# earlier events\nhealth gpu-0 bad Fan stuck\ncrash\n";
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

  // A new file with that name is read from its start.
  std::ofstream(folder / "other") << "health gpu-2 bad Fan stuck\n";
  std::filesystem::rename(folder / "other", path);
  ASSERT_TRUE(instance.host.wait_until([&] { return instance.host.healths.size() == 3; }));
  EXPECT_EQ(instance.host.healths.back().first, "gpu-2");
}

TEST(MockScript, FaultsCanBeAddedAndHealedAtRunTime) {
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

TEST(MockScript, PreStartAndChooseCanFailToo) {
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

TEST(MockScript, AScriptInAMissingFolderFailsStart) {
  const Instance instance(mock(), {{"script_file", "/nonexistent/script"}});
  EXPECT_EQ(instance.started, CAGE_FAILED_PRECONDITION);
  EXPECT_THAT(instance.explanation, HasSubstr("/nonexistent/script"));
  const Instance relative(mock(), {{"script_file", "script"}});
  EXPECT_EQ(relative.started, CAGE_FAILED_PRECONDITION);
}

TEST(MockScriptDeathTest, CrashNeedsNoCall) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto crash = [] {
    Instance instance(mock(), {{"script", Strings{"crash"}}});
    instance.host.wait_until([] { return false; });
  };
  EXPECT_EXIT(crash(), testing::KilledBySignal(SIGABRT), "");
}

}  // namespace
}  // namespace cardcage::raw
