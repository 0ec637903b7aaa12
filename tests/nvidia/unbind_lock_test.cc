// A GPU that a process has open is not taken from its driver: the kernel would wait forever.
#include <fstream>

#include "sim/nvml/fake_unbind_lock.h"
#include "tests/nvidia/passthrough_fixture.h"

namespace cardcage {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class NvidiaUnbindLock : public NvidiaPassthroughFixture {
 protected:
  void SetUp() override {
    NvidiaPassthroughFixture::SetUp();
    if (IsSkipped()) return;
    gpus = std::make_unique<FakeGpus>(folder / "node", FakeNode{.product = "h100", .gpus = 1});
    sysfs.add_function(gpus->bus_id(0), "nvidia");
    lock = std::make_unique<FakeUnbindLock>(gpus->procfs() / "driver/nvidia/gpus" / gpus->bus_id(0));
    ASSERT_TRUE(lock->mounted());
  }
  void TearDown() override {
    let_go();
    lock.reset();
  }
  Status start(Options options = {}) {
    options.emplace("passthrough", true);
    const Status started = start_again(options);
    discover();
    return started;
  }

  std::unique_ptr<FakeUnbindLock> lock;
};
INSTANTIATE_TEST_SUITE_P(Isolation, NvidiaUnbindLock, ::testing::Values(Isolation::kInProcess, Isolation::kProcess),
                         name_of_isolation);

TEST_P(NvidiaUnbindLock, TheGpuIsLockedBeforeItIsBound) {
  ASSERT_TRUE(start());
  ModuleClaim wanted = claim_of("u1", {"gpu-vfio-0"});
  const auto edits = prepare(wanted);
  ASSERT_TRUE(edits) << edits.error().message;
  EXPECT_TRUE(lock->locked());
  EXPECT_EQ(driver(), "vfio-pci");
}

TEST_P(NvidiaUnbindLock, AGpuThatSomebodyHasOpenStaysAndTheErrorSaysWho) {
  ASSERT_TRUE(start());
  lock->set_users(1);
  ModuleClaim wanted = claim_of("u1", {"gpu-vfio-0"});
  auto edits = prepare(wanted);
  ASSERT_FALSE(edits);
  EXPECT_THAT(edits.error().message, HasSubstr("GPU 0000:3b:00.0 cannot be taken from its driver while a process that "
                                               "cannot be seen from here (hostPID: true shows all) has it open"));
  // The fake procfs shows a process that has the node open, as monitoring does.
  const auto process = gpus->procfs() / "4711";
  std::filesystem::create_directories(process / "fd");
  std::filesystem::create_symlink(gpus->devfs() / "nvidia0", process / "fd/9");
  std::ofstream(process / "comm") << "dcgm-exporter\n" << std::flush;
  edits = prepare(wanted);
  ASSERT_FALSE(edits);
  EXPECT_THAT(edits.error().message, AllOf(HasSubstr("while process 4711 (dcgm-exporter) has it open"),
                                           HasSubstr("end it, or wait until it has ended")));
  EXPECT_EQ(driver(), "nvidia");
  EXPECT_FALSE(lock->locked());
  EXPECT_THAT(sysfs.written(), IsEmpty());
  lock->set_users(0);
  EXPECT_TRUE(prepare(wanted)) << "the kubelet retries";
}

TEST_P(NvidiaUnbindLock, ABindThatFailsLeavesNoLock) {
  ASSERT_TRUE(start({{"vfio_driver", std::string("nvgrace_gpu_vfio_pci")}}));
  ModuleClaim wanted = claim_of("u1", {"gpu-vfio-0"});
  ASSERT_FALSE(prepare(wanted));
  EXPECT_EQ(driver(), "nvidia");
  EXPECT_FALSE(lock->locked()) << "a locked GPU cannot be opened";
}

TEST_P(NvidiaUnbindLock, ALockThatACrashHasLeftGoesWithTheClaim) {
  ASSERT_TRUE(start());
  ModuleClaim wanted = claim_of("u1", {"gpu-vfio-0"});
  wanted.journal = "function " + gpus->bus_id(0) + "\n";
  std::ofstream(gpus->procfs() / "driver/nvidia/gpus" / gpus->bus_id(0) / "unbindLock") << "1\n" << std::flush;
  ASSERT_TRUE(lock->locked());
  const Status released = unprepare(wanted);
  ASSERT_TRUE(released) << released.error().message;
  EXPECT_FALSE(lock->locked());
}

TEST_P(NvidiaUnbindLock, WithoutTheRightTheErrorNamesTheKey) {
  writes_allowed.pop_back();
  ASSERT_TRUE(start());
  ModuleClaim wanted = claim_of("u1", {"gpu-vfio-0"});
  const auto edits = prepare(wanted);
  ASSERT_FALSE(edits);
  EXPECT_THAT(edits.error().message, AllOf(HasSubstr("unbindLock"), HasSubstr("writes")));
  EXPECT_EQ(driver(), "nvidia");
}

}  // namespace
}  // namespace cardcage
