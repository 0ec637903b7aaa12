// What concerns the node and its GPUs as a whole: labels, which GPUs are close to each other, and a GPU that is given
// to the operator.
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
    const auto chosen = run(module->choose(ids(available), ids(required), count, soon()));
    EXPECT_TRUE(chosen) << chosen.error().message;
    return chosen.value_or(std::vector<std::string>());
  }
  // Programs have the GPU open.
  bool is_open(int gpu) const {
    const auto world = gpus->state();
    return std::ranges::any_of(world->clients, [&](const fake_nvml::Client& client) {
      return client.used && (client.attached >> gpu & 1) != 0;
    });
  }
};

INSTANTIATE_TEST_SUITE_P(Isolation, NvidiaNode, ::testing::Values(Isolation::kInProcess, Isolation::kProcess),
                         name_of_isolation);

TEST_P(NvidiaNode, LabelsAreThoseOfGpuFeatureDiscovery) {
  ASSERT_TRUE(start_on({.product = "h100", .gpus = 2}));
  discover();
  const auto labels = run(module->collect_labels(soon()));
  ASSERT_TRUE(labels) << labels.error().message;
  EXPECT_THAT(labels->values,
              IsSupersetOf({Pair("nvidia.com/gpu.count", "2"), Pair("nvidia.com/gpu.product", "NVIDIA-H100-80GB-HBM3"),
                            Pair("nvidia.com/gpu.memory", "81559"), Pair("nvidia.com/gpu.family", "hopper"),
                            Pair("nvidia.com/gpu.compute.major", "9"), Pair("nvidia.com/gpu.compute.minor", "0"),
                            Pair("nvidia.com/mig.capable", "true"), Pair("nvidia.com/cuda.driver-version.major", "580"),
                            Pair("nvidia.com/cuda.driver-version.full", "580.65.06"),
                            Pair("nvidia.com/cuda.runtime-version.full", "13.0")}));
}

TEST_P(NvidiaNode, LabelsCountMigInstances) {
  gpus = std::make_unique<FakeGpus>(folder / "node", FakeNode{.product = "h100"});
  gpus->set_mig_mode(0, true);
  gpus->create_instance(0, 19, 0);
  gpus->create_instance(0, 19, 3);
  ASSERT_TRUE(start_again());
  discover();
  const auto labels = run(module->collect_labels(soon()));
  ASSERT_TRUE(labels) << labels.error().message;
  EXPECT_THAT(labels->values, IsSupersetOf({Pair("nvidia.com/mig-1g.10gb.count", "2"),
                                            Pair("nvidia.com/mig-1g.10gb.multiprocessors", "16")}));
}

TEST_P(NvidiaNode, ANodeWithoutGpusHasNoLabels) {
  gpus = std::make_unique<FakeGpus>(folder / "node", FakeNode{});
  gpus->unload_driver();
  ASSERT_TRUE(start_again());
  discover();
  EXPECT_THAT(run(module->collect_labels(soon())).value().values, IsEmpty());
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
  ASSERT_TRUE(run(module->quiesce_device(gpus->uuid(1), soon())));
  EXPECT_EQ(device("gpu-1").id, gpus->uuid(1)) << "as it was";
  EXPECT_TRUE(is_open(0));
  EXPECT_FALSE(is_open(1));
  ModuleClaim other = claim_of("u1", {"gpu-0"}), wanted = claim_of("u2", {"gpu-1"});
  EXPECT_TRUE(prepare(other));
  const auto refused = prepare(wanted);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kUnavailable);
  EXPECT_FALSE(is_open(1));
  ASSERT_TRUE(run(module->resume_device(gpus->uuid(1), soon())));
  discover();
  EXPECT_TRUE(is_open(1));
  EXPECT_TRUE(prepare(wanted));
}

}  // namespace
}  // namespace cardcage
