// Claims that share a GPU by its memory (consumable capacity, KEP-5075).
#include "tests/fakes/sleeper.h"
#include "tests/nvidia/nvidia_fixture.h"

namespace cardcage {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class NvidiaMemoryShares : public NvidiaFixture {
 protected:
  Status start_with_shares(Options options = {}) {
    options.emplace("memory_shares", true);
    return start_on({.product = "h100"}, options);
  }
  ModuleClaim share_of(const std::string& uid, const std::string& params = {}) {
    ModuleClaim made = claim_of(uid, {"gpu-0"}, params);
    made.allocations[0].share_id = uid;
    made.allocations[0].consumed_capacity = {{"memory", *Quantity::parse("10Gi")}};
    return made;
  }
};

INSTANTIATE_TEST_SUITE_P(Isolation, NvidiaMemoryShares, ::testing::Values(Isolation::kInProcess, Isolation::kProcess),
                         name_of_isolation);

TEST_P(NvidiaMemoryShares, AreOffUnlessTheOperatorWantsThem) {
  ASSERT_TRUE(start_on({.product = "h100"}));
  EXPECT_FALSE(device("gpu-0").shared);
  EXPECT_THAT(device("gpu-0").policies, IsEmpty());
}

TEST_P(NvidiaMemoryShares, AreWholeMebibytesAndByDefaultTheWholeGpu) {
  ASSERT_TRUE(start_with_shares());
  const Device gpu = device("gpu-0");
  EXPECT_TRUE(gpu.shared);
  const RequestPolicy policy = gpu.policies.at("memory");
  EXPECT_EQ(policy.default_amount, gpu.capacity.at("memory"));
  EXPECT_EQ(policy.min, Quantity::parse("1Mi"));
  EXPECT_EQ(policy.step, Quantity::parse("1Mi"));
  EXPECT_FALSE(policy.max);
  EXPECT_EQ(flaw_of(gpu.policies, gpu.capacity, gpu.shared), std::nullopt);
}

TEST_P(NvidiaMemoryShares, MigInstancesAreNotShared) {
  gpus = std::make_unique<FakeGpus>(folder / "node", FakeNode{.product = "h100"});
  gpus->set_mig_mode(0, true);
  gpus->create_instance(0, 19, 0);
  ASSERT_TRUE(start_again({{"memory_shares", true}}));
  EXPECT_FALSE(device("gpu-0-mig-1g10gb-19-0").shared);
}

TEST_P(NvidiaMemoryShares, TwoClaimsHaveTheGpuAtATime) {
  ASSERT_TRUE(start_with_shares());
  ModuleClaim one = share_of("u1"), two = share_of("u2");
  const auto first = prepare(one);
  ASSERT_TRUE(first) << first.error().message;
  Sleeper program(gpus->devfs() / "nvidia0");
  gpus->add_process(0, program.number(), 1 << 20);
  const auto second = prepare(two);
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ(nodes_of(second->allocations.at(0)), nodes_of(first->allocations.at(0)));
  EXPECT_TRUE(unprepare(two));
  EXPECT_TRUE(program.is_alive());
  EXPECT_TRUE(unprepare(one));
}

// Options that change between prepare and unprepare do not affect another claim's programs.
TEST_P(NvidiaMemoryShares, AreReleasedWithoutAResetOrAKill) {
  ASSERT_TRUE(start_with_shares());
  ModuleClaim one = share_of("u1");
  ASSERT_TRUE(prepare(one));
  ASSERT_TRUE(start_again({{"leftover_processes", std::string("end")}, {"reset_after_use", true}}));
  Sleeper program(gpus->devfs() / "nvidia0");
  gpus->add_process(0, program.number(), 1 << 20);
  EXPECT_TRUE(unprepare(one));
  EXPECT_TRUE(program.is_alive());
  EXPECT_THAT(gpus->smi_log(), IsEmpty());
}

TEST_P(NvidiaMemoryShares, NoClaimChangesTheGpuForTheOthers) {
  ASSERT_TRUE(start_with_shares());
  for (const char* sharing : {R"("sharing":{"strategy":"MPS"})",
                              R"("sharing":{"strategy":"TimeSlicing","timeSlicingConfig":{"interval":"Long"}})"}) {
    ModuleClaim one = share_of("u1", sharing);
    const auto refused = prepare(one);
    ASSERT_FALSE(refused) << sharing;
    EXPECT_THAT(
        refused.error().message,
        HasSubstr("request 'main': with the option memory_shares other claims may use the GPU at the same time, and "
                  "'sharing' would change it for all of them; remove it from the claim or its DeviceClass"));
  }
}

TEST_P(NvidiaMemoryShares, OptionsForAGpuThatOneClaimHasAreRefused) {
  for (const auto& [name, value] : Options{{"mig", std::string("dynamic")},
                                           {"passthrough", true},
                                           {"reset_after_use", true},
                                           {"leftover_processes", std::string("wait")}}) {
    const Status refused = start_with_shares({{name, value}});
    ASSERT_FALSE(refused) << name;
    EXPECT_THAT(refused.error().message, HasSubstr("option 'memory_shares' lets several claims use a GPU"));
    EXPECT_THAT(refused.error().message, HasSubstr(name));
  }
}

}  // namespace
}  // namespace cardcage
