// The node and its GPUs as a whole: labels, the closeness of GPUs, and a GPU that is released to the operator.
#include "tests/nvidia/nvidia_fixture.h"

namespace cardcage {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

class NvidiaNode : public NvidiaFixture {
 protected:
  std::vector<std::string> ids(const std::vector<int>& of) const {
    std::vector<std::string> all;
    for (const int gpu : of) all.push_back(gpus->uuid(gpu));
    return all;
  }
  std::vector<std::string> choose(const std::vector<int>& available, const std::vector<int>& required,
                                  std::size_t count) {
    const auto chosen = run(module->call(ChooseCall{ids(available), ids(required), count}, soon()));
    EXPECT_TRUE(chosen) << chosen.error().message;
    return chosen.value_or(std::vector<std::string>());
  }
  // Whether programs have the GPU open.
  bool is_open(int gpu) const {
    const auto world = gpus->state();
    return std::ranges::any_of(world->clients, [&](const fake_nvml::Client& client) {
      return client.used && (client.attached >> gpu & 1) != 0;
    });
  }
};

INSTANTIATE_TEST_SUITE_P(Isolation, NvidiaNode, ::testing::Values(Isolation::kInProcess, Isolation::kProcess),
                         name_of_isolation);

TEST_P(NvidiaNode, ANodeWithoutGpusHasNoLabels) {
  gpus = std::make_unique<FakeGpus>(folder / "node", FakeNode{});
  gpus->unload_driver();
  ASSERT_TRUE(start_again());
  discover();
  EXPECT_THAT(run(module->call(CollectLabelsCall{}, soon())).value().values, IsEmpty());
}

TEST_P(NvidiaNode, LinkedGpusAreChosenTogether) {
  ASSERT_TRUE(start_on({.product = "l40s", .gpus = 4}));
  gpus->set_nvlink(0, 0, 2);
  gpus->set_nvlink(2, 0, 0);
  gpus->set_nvlink(1, 0, 3);
  gpus->set_nvlink(3, 0, 1);
  discover();
  EXPECT_EQ(choose({0, 1, 2, 3}, {}, 2), ids({0, 2}));
  EXPECT_EQ(choose({0, 1, 2, 3}, {3}, 2), ids({1, 3}));
  EXPECT_EQ(choose({0, 1, 3}, {}, 2), ids({1, 3}));
  EXPECT_EQ(choose({0, 1, 2, 3}, {}, 4), ids({0, 1, 2, 3}));
}

TEST_P(NvidiaNode, ALostGpuDoesNotSpoilTheChoice) {
  ASSERT_TRUE(start_on({.product = "l40s", .gpus = 3}));
  discover();
  gpus->lose(1);
  EXPECT_THAT(choose({0, 2}, {}, 2), UnorderedElementsAre(gpus->uuid(0), gpus->uuid(2)));
}

TEST_P(NvidiaNode, AGpuIsGivenToTheOperatorWhileTheOthersServe) {
  ASSERT_TRUE(start_on({.product = "h100", .gpus = 2}));
  discover();
  EXPECT_TRUE(is_open(0));
  EXPECT_TRUE(is_open(1));
  ASSERT_TRUE(run(module->call(QuiesceDeviceCall{gpus->uuid(1)}, soon())));
  EXPECT_EQ(device("gpu-1").id, gpus->uuid(1)) << "unchanged";
  EXPECT_TRUE(is_open(0));
  EXPECT_FALSE(is_open(1));
  ModuleClaim other = claim_of("u1", {"gpu-0"}), wanted = claim_of("u2", {"gpu-1"});
  EXPECT_TRUE(prepare(other));
  const auto refused = prepare(wanted);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kUnavailable);
  EXPECT_FALSE(is_open(1));
  ASSERT_TRUE(run(module->call(ResumeDeviceCall{gpus->uuid(1)}, soon())));
  discover();
  EXPECT_TRUE(is_open(1));
  EXPECT_TRUE(prepare(wanted));
}

}  // namespace
}  // namespace cardcage
