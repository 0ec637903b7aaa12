// Prepares and releases that take longer than the kubelet waits.
#include <gmock/gmock.h>

#include <future>

#include "tests/unit/claim/claim_world.h"

namespace cardcage {
namespace {

using ::testing::HasSubstr;

using ClaimDeadlineTest = ClaimWorld;

TEST_F(ClaimDeadlineTest, AModulesCallHasALimitOfItsOwn) {
  cluster.put_claim(a_claim("u1", {an_allocation("gpu-0")}));
  gpus->block<PrepareCall>();
  deadlines.module_call = std::chrono::milliseconds(50);
  EXPECT_THAT(text_of(prepare("u1")), HasSubstr("the module did not respond in time"));
  deadlines.module_call = std::chrono::minutes(2);
  const auto late = begin(preparer->prepare(ref_of("u1"), clock.now() + std::chrono::milliseconds(50)));
  ASSERT_TRUE(until([&] { return gpus->count<PrepareCall>() == 2; }));
  clock.advance(std::chrono::milliseconds(50));
  ASSERT_TRUE(until([&] { return late->has_value(); }));
  gpus->unblock<PrepareCall>();
  EXPECT_TRUE(prepare("u1")) << "the prepare outlived the kubelet's call";
  EXPECT_EQ(gpus->count<PrepareCall>(), 2);
}

TEST_F(ClaimDeadlineTest, AModuleThatProgramsHardwareHasALongerLimitAndTellsHowFarItIs) {
  cluster.put_claim(a_claim("u1", {an_allocation("gpu-0")}));
  gpus->block<PrepareCall>();
  gpus->about.claim_call_limit = std::chrono::minutes(10);
  gpus->told = Progress{40, "writing the bitstream"};
  deadlines.module_call = std::chrono::milliseconds(50);
  const auto late = begin(preparer->prepare(ref_of("u1"), soon()));
  ASSERT_TRUE(until([&] { return gpus->count<PrepareCall>() == 1; }));
  clock.advance(std::chrono::seconds(6));
  ASSERT_TRUE(until([&] { return late->has_value(); }));
  EXPECT_THAT((*late)->error().message,
              HasSubstr("to prepare device 'gpu-0' (40 %, writing the bitstream); the work continues"));
  gpus->unblock<PrepareCall>();
  EXPECT_TRUE(prepare("u1"));
  EXPECT_EQ(gpus->count<PrepareCall>(), 1);
}

TEST_F(ClaimDeadlineTest, WorkGoesOnAfterTheDeadlineAndTheNextTryFindsItsResult) {
  cluster.put_claim(a_claim("u1", {an_allocation("gpu-0")}));
  gpus->block<PrepareCall>();
  const auto late = begin(preparer->prepare(ref_of("u1"), soon()));
  ASSERT_TRUE(until([&] { return gpus->count<PrepareCall>() == 1; }));
  clock.advance(std::chrono::seconds(6));
  ASSERT_TRUE(until([&] { return late->has_value(); }));
  ASSERT_FALSE(**late);
  EXPECT_EQ((*late)->error().code, Code::kDeadlineExceeded);
  EXPECT_THAT((*late)->error().message, HasSubstr("claim team/claim-u1: out of time while waiting for module 'gpus' to "
                                                  "prepare device 'gpu-0'"));
  const auto again = begin(preparer->prepare(ref_of("u1"), soon()));
  settle();
  gpus->unblock<PrepareCall>();
  ASSERT_TRUE(until([&] { return again->has_value(); }));
  EXPECT_TRUE(**again);
  EXPECT_TRUE(prepare("u1"));
  EXPECT_EQ(gpus->count<PrepareCall>(), 1) << "the module is not called twice";
}

TEST_F(ClaimDeadlineTest, ADiskThatHangsHoldsNoCallUp) {
  std::promise<void> disk;
  start([hung = disk.get_future().share()](FaultPoint point) {
    if (point == FaultPoint::kBeforeCommit) hung.wait();
  });
  ASSERT_TRUE(prepare_new("u1", {an_allocation("gpu-0")}));
  clock.advance(std::chrono::seconds(1));
  settle();
  EXPECT_EQ(ledger->transactions(), 1u) << "and none ends";
  EXPECT_TRUE(prepare_new("u2", {an_allocation("gpu-1")}));
  EXPECT_TRUE(unprepare("u1"));
  disk.set_value();
  preparer.reset();
  ledger.reset();
}

TEST_F(ClaimDeadlineTest, AnApiServerThatHangsIsReportedAtTheDeadline) {
  cluster.put_claim(a_claim("u1", {an_allocation("gpu-0")}));
  cluster.pause();
  const Instant deadline = soon();
  const auto preparing = begin(preparer->prepare(ref_of("u1"), deadline));
  settle();
  clock.advance(deadline - clock.now());
  ASSERT_TRUE(until([&] { return preparing->has_value(); }));
  EXPECT_EQ((*preparing)->error().code, Code::kDeadlineExceeded);
  EXPECT_THAT((*preparing)->error().message, HasSubstr("out of time while waiting for its ResourceClaim"));
  cluster.resume();
  EXPECT_TRUE(prepare("u1"));
}

}  // namespace
}  // namespace cardcage
