// Processes and memory that are on a GPU although no claim has it.
#include <fcntl.h>

#include "host/core/unique_fd.h"
#include "tests/fakes/sleeper.h"
#include "tests/nvidia/nvidia_fixture.h"

namespace cardcage {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class NvidiaLeftovers : public NvidiaFixture {
 protected:
  Status start_with(const std::string& policy, const FakeNode& node = {.product = "h100"}) {
    return start_on(node, {{"leftover_processes", policy}});
  }
};

INSTANTIATE_TEST_SUITE_P(Isolation, NvidiaLeftovers, ::testing::Values(Isolation::kInProcess, Isolation::kProcess),
                         name_of_isolation);

TEST_P(NvidiaLeftovers, AreReportedUnlessTheOperatorWantsMore) {
  ASSERT_TRUE(start_with("report"));
  gpus->add_process(0, 4711, 1 << 20);
  ModuleClaim wanted = claim_of("u1", {"gpu-0"});
  EXPECT_TRUE(prepare(wanted));
  EXPECT_TRUE(unprepare(wanted));
}

TEST_P(NvidiaLeftovers, KeepAClaimWaitingIfTheOperatorWantsIt) {
  ASSERT_TRUE(start_with("wait"));
  gpus->add_process(0, 4711, 1 << 20);
  gpus->add_process(0, 4712, 1 << 20, nvml::kNoInstance, nvml::kNoInstance, fake_nvml::Process::kGraphics);
  ModuleClaim wanted = claim_of("u1", {"gpu-0"});
  const auto edits = prepare(wanted);
  ASSERT_FALSE(edits);
  EXPECT_EQ(edits.error().code, Code::kUnavailable) << "the kubelet retries";
  EXPECT_THAT(edits.error().message, HasSubstr("GPU 0000:3b:00.0 is used by process 4711, 4712; end it"));
  for (const unsigned pid : {4711u, 4712u}) gpus->remove_process(0, pid);
  ASSERT_TRUE(prepare(wanted));
  gpus->add_process(0, 4713, 1 << 20);
  EXPECT_TRUE(prepare(wanted)) << "the process belongs to the claim";
  const Status released = unprepare(wanted);
  ASSERT_FALSE(released);
  EXPECT_THAT(released.error().message, HasSubstr("process 4713 is still on GPU 0000:3b:00.0"));
  gpus->remove_process(0, 4713);
  EXPECT_TRUE(unprepare(wanted));
}

TEST_P(NvidiaLeftovers, OfAClaimThatNeverGotTheGpuAreNotItsOwn) {
  for (const char* policy : {"wait", "end"}) {
    ASSERT_TRUE(
        start_on({.product = "h100"}, {{"leftover_processes", std::string(policy)}, {"reset_after_use", true}}));
    gpus->add_process(0, static_cast<unsigned>(::getpid()), 1 << 20);  // the test would fail if this process was ended
    ModuleClaim wanted = claim_of("u1", {"gpu-0"});
    ASSERT_FALSE(prepare(wanted)) << policy;
    EXPECT_TRUE(unprepare(wanted)) << policy;
    EXPECT_THAT(gpus->smi_log(), Not(HasSubstr("--gpu-reset"))) << policy;
  }
}

TEST_P(NvidiaLeftovers, ALostGpuIsReleasedWithoutAReset) {
  ASSERT_TRUE(start_on({.product = "h100"}, {{"reset_after_use", true}}));
  ModuleClaim wanted = claim_of("u1", {"gpu-0"});
  ASSERT_TRUE(prepare(wanted));
  gpus->lose(0);
  EXPECT_TRUE(unprepare(wanted));
  EXPECT_THAT(gpus->smi_log(), Not(HasSubstr("--gpu-reset")));
}

TEST_P(NvidiaLeftovers, PersistenceIsNoObstacleToAReset) {
  ASSERT_TRUE(start_on({.product = "h100"}, {{"reset_after_use", true}}));
  gpus->state()->gpus[0].persistence = nvml::kEnabled;
  ModuleClaim wanted = claim_of("u1", {"gpu-0"});
  ASSERT_TRUE(prepare(wanted));
  ASSERT_TRUE(unprepare(wanted));
  EXPECT_THAT(gpus->smi_log(), HasSubstr("--gpu-reset"));
  EXPECT_EQ(gpus->state()->gpus[0].persistence, nvml::kEnabled);
}

TEST_P(NvidiaLeftovers, OfAnotherInstanceDoNotMatter) {
  ASSERT_TRUE(start_with("wait"));
  gpus->set_mig_mode(0, true);
  const unsigned one = gpus->create_instance(0, 19, 0), other = gpus->create_instance(0, 19, 1);
  gpus->add_process(0, 4711, 1 << 20, other, 0);
  ModuleClaim wanted = claim_of("u1", {"gpu-0-mig-1g10gb-19-0"});
  ASSERT_TRUE(prepare(wanted));
  gpus->add_process(0, 4712, 1 << 20, one, 0);
  EXPECT_THAT(unprepare(wanted).error().message, AllOf(HasSubstr("process 4712 is"), Not(HasSubstr("4711"))));
}

TEST_P(NvidiaLeftovers, AreEndedIfTheOperatorWantsIt) {
  ASSERT_TRUE(start_with("end"));
  ModuleClaim wanted = claim_of("u1", {"gpu-0"});
  ASSERT_TRUE(prepare(wanted));
  Sleeper left(gpus->devfs() / "nvidia0");
  gpus->add_process(0, left.number(), 1 << 20);
  const auto released = begin(module->call(UnprepareCall{wanted}, soon()));
  EXPECT_EQ(left.signal_at_end(), SIGKILL);
  gpus->remove_process(0, left.number());  // as the driver removes it
  ASSERT_TRUE(eventually([&] { return released->has_value(); }));
  EXPECT_TRUE(**released);
}

TEST_P(NvidiaLeftovers, OnlyAProcessThatHasTheGpuOpenIsKilled) {
  ASSERT_TRUE(start_with("end", {.product = "h100", .gpus = 2}));
  ModuleClaim wanted = claim_of("u1", {"gpu-0"});
  ASSERT_TRUE(prepare(wanted));
  Sleeper stranger("/dev/null"), neighbour(gpus->devfs() / "nvidia1");
  for (const Sleeper* one : {&stranger, &neighbour}) {
    gpus->add_process(0, one->number(), 1 << 20);  // a reused pid, or a pid of another namespace
    const Status released = unprepare(wanted);
    ASSERT_FALSE(released);
    EXPECT_THAT(released.error().message,
                AllOf(HasSubstr(fmt::format("process {} is still on GPU 0000:3b:00.0", one->number())),
                      HasSubstr(fmt::format("it does not have '{}' open", (gpus->devfs() / "nvidia0").native()))));
    EXPECT_TRUE(one->is_alive());
    gpus->remove_process(0, one->number());
  }
  EXPECT_TRUE(unprepare(wanted));
}

// kill(-1, SIGKILL) would end every process of the node, including this test.
TEST_P(NvidiaLeftovers, NumbersThatAreNoPidsAreNeverSignalled) {
  ASSERT_TRUE(start_with("end"));
  ModuleClaim wanted = claim_of("u1", {"gpu-0"});
  ASSERT_TRUE(prepare(wanted));
  const UniqueFd mine(
      ::open((gpus->devfs() / "nvidia0").c_str(), O_RDONLY | O_CLOEXEC));  // the check has to see this process
  for (const unsigned number : {0u, 1u, 0x7fffffffu, 0x80000000u, 0xfffffffeu, 0xffffffffu}) {
    gpus->add_process(0, number, 1 << 20);
    const auto released = begin(module->call(UnprepareCall{wanted}, soon()));
    if (number == 0x7fffffffu) gpus->remove_process(0, number);  // no process has that pid: it has ended
    ASSERT_TRUE(eventually([&] { return released->has_value(); }));
    EXPECT_EQ((*released)->has_value(), number == 0x7fffffffu) << number;
    gpus->remove_process(0, number);
  }
  EXPECT_TRUE(unprepare(wanted));
}

TEST_P(NvidiaLeftovers, NoProcessEndsItselfOrItsParent) {
  ASSERT_TRUE(start_with("end"));
  ModuleClaim wanted = claim_of("u1", {"gpu-0"});
  ASSERT_TRUE(prepare(wanted));
  const UniqueFd mine(::open((gpus->devfs() / "nvidia0").c_str(), O_RDONLY | O_CLOEXEC));
  gpus->add_process(0, static_cast<unsigned>(::getpid()), 1 << 20);  // the daemon of a worker, or the module itself
  EXPECT_THAT(unprepare(wanted).error().message, HasSubstr("it is this process or a parent of it"));
}

class NvidiaLongRecords : public NvidiaLeftovers {};

INSTANTIATE_TEST_SUITE_P(Isolation, NvidiaLongRecords, ::testing::Values(Isolation::kInProcess, Isolation::kProcess),
                         name_of_isolation);

// If records are read with the wrong size, each second pid is the end of a record: 0xffffffff, or bytes of memory.
TEST_P(NvidiaLongRecords, AreReadAsTheyAre) {
  ASSERT_TRUE(start_with("wait", {.product = "h100", .driver = "535.54.03"}));
  for (const unsigned pid : {4711u, 4712u, 4713u}) gpus->add_process(0, pid, 1 << 20);
  ModuleClaim wanted = claim_of("u1", {"gpu-0"});
  const auto edits = prepare(wanted);
  ASSERT_FALSE(edits);
  EXPECT_THAT(edits.error().message, HasSubstr("GPU 0000:3b:00.0 is used by process 4711, 4712, 4713; end it"));
}

TEST_P(NvidiaLongRecords, FitWhereTheDriverWritesThem) {
  ASSERT_TRUE(start_with("wait", {.product = "h100", .driver = "535.86.10"}));
  for (unsigned pid = 5000; pid < 5000 + fake_nvml::kMaxProcesses; ++pid) gpus->add_process(0, pid, 1 << 20);
  ModuleClaim wanted = claim_of("u1", {"gpu-0"});
  const auto edits = prepare(wanted);
  ASSERT_FALSE(edits);
  EXPECT_THAT(edits.error().message, HasSubstr("5030, 5031; end it"));
}

TEST_P(NvidiaLongRecords, KillNobodyElse) {
  ASSERT_TRUE(start_with("end", {.product = "h100", .driver = "535.54.03"}));
  ModuleClaim wanted = claim_of("u1", {"gpu-0"});
  ASSERT_TRUE(prepare(wanted));
  Sleeper one(gpus->devfs() / "nvidia0"), other(gpus->devfs() / "nvidia0"), stranger("/dev/null");
  for (const Sleeper* it : {&one, &other}) gpus->add_process(0, it->number(), 1 << 20);
  const auto released = begin(module->call(UnprepareCall{wanted}, soon()));
  EXPECT_EQ(one.signal_at_end(), SIGKILL);
  EXPECT_EQ(other.signal_at_end(), SIGKILL);
  for (const Sleeper* it : {&one, &other}) gpus->remove_process(0, it->number());
  ASSERT_TRUE(eventually([&] { return released->has_value(); }));
  EXPECT_TRUE(**released);
  EXPECT_TRUE(stranger.is_alive());
}

TEST_P(NvidiaLeftovers, AReleasedGpuIsResetIfTheOperatorWantsIt) {
  ASSERT_TRUE(start_on({.product = "h100", .gpus = 2}, {{"reset_after_use", true}}));
  ModuleClaim wanted = claim_of("u1", {"gpu-0", "gpu-1"});
  ASSERT_TRUE(prepare(wanted));
  gpus->add_process(0, 4711, 1 << 20);
  const Status busy = unprepare(wanted);
  ASSERT_FALSE(busy);
  EXPECT_THAT(busy.error().message, HasSubstr("resetting GPU 0000:3b:00.0,"));
  gpus->remove_process(0, 4711);
  const Status released = unprepare(wanted);
  ASSERT_TRUE(released) << released.error().message;
  EXPECT_THAT(gpus->smi_log(), HasSubstr("--gpu-reset -i " + gpus->bus_id(0) + "," + gpus->bus_id(1)));
}

}  // namespace
}  // namespace cardcage
