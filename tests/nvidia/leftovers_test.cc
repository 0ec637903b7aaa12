// Processes and memory that are on a GPU although no claim has it.
#include <spawn.h>
#include <sys/wait.h>

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
  EXPECT_EQ(edits.error().code, Code::kUnavailable) << "the kubelet tries again";
  EXPECT_THAT(edits.error().message, HasSubstr("GPU 0000:3b:00.0 is used by process 4711, 4712; end it"));
  for (const unsigned pid : {4711u, 4712u}) gpus->remove_process(0, pid);
  ASSERT_TRUE(prepare(wanted));
  gpus->add_process(0, 4713, 1 << 20);
  EXPECT_TRUE(prepare(wanted)) << "it is the claim's own";
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
    gpus->add_process(0, static_cast<unsigned>(::getpid()), 1 << 20);  // it would be noticed if this one was ended
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
  pid_t left = 0;
  const char* command[] = {"sleep", "1000", nullptr};
  ASSERT_EQ(::posix_spawn(&left, "/bin/sleep", nullptr, nullptr, const_cast<char**>(command), nullptr), 0);
  gpus->add_process(0, static_cast<unsigned>(left), 1 << 20);
  const auto released = begin(module->unprepare(wanted, soon()));
  int status = 0;
  ASSERT_EQ(::waitpid(left, &status, 0), left);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  gpus->remove_process(0, static_cast<unsigned>(left));  // as the driver does it
  ASSERT_TRUE(eventually([&] { return released->has_value(); }));
  EXPECT_TRUE(**released);
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
