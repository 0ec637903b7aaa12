// Another node publishes slices of the same driver and pool.
#include "tests/unit/slices/publisher_fixture.h"

namespace cardcage {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using Verb = FakeCluster::Verb;

class PoolNeighboursTest : public SlicePublisherTest {
 protected:
  void want_pool(const std::string& pool) {
    PoolContent content;
    content.devices.push_back(plain_device("gpu-0"));
    publisher.set_pools({{pool, shared(std::move(content))}});
  }
  Slice slice_of(const std::string& node, const std::string& pool, const std::string& driver = "gpu.example.com") {
    Slice slice;
    slice.generate_name = "s-";
    slice.driver = driver;
    slice.node_name = node;
    slice.pool = {pool, 1, 1};
    return cluster.put_slice(std::move(slice));
  }
  std::size_t looks() const {
    return static_cast<std::size_t>(std::ranges::count(cluster.calls(), Verb::kListPools, &FakeCluster::Call::verb));
  }
};

TEST_F(PoolNeighboursTest, AreFoundSoonAndForgottenWhenTheyAreGone) {
  want_pool("gpus");
  start();
  pass(10s, 1s);
  EXPECT_THAT(publisher.shared_pools(), IsEmpty()) << "its own slice is not a neighbour";
  const Slice other = slice_of("node8", "gpus");
  pass(1min, 1s);
  EXPECT_THAT(publisher.shared_pools(), ElementsAre(Pair("gpus", "node8")));
  cluster.remove_slice(other.name);
  pass(6min, 1s);
  EXPECT_THAT(publisher.shared_pools(), IsEmpty());
}

TEST_F(PoolNeighboursTest, OnlyTheSameDriverAndPoolCount) {
  want_pool("gpus");
  slice_of("node8", "others");
  slice_of("node8", "gpus", "nic.example.com");
  start();
  pass(1min, 1s);
  EXPECT_GT(looks(), 0u);
  EXPECT_THAT(publisher.shared_pools(), IsEmpty());
}

TEST_F(PoolNeighboursTest, APoolWithTheNodesNameCostsNoList) {
  want_pool("node7");
  start();
  pass(10min, 1s);
  EXPECT_EQ(looks(), 0u);
  want_pool("node7/mig");
  pass(10min, 1s);
  EXPECT_EQ(looks(), 0u);
}

TEST_F(PoolNeighboursTest, AreLookedForEverLessOften) {
  want_pool("gpus");
  start();
  pass(12h, 1min);
  EXPECT_LT(looks(), 40u);
  cluster.fail_next(Verb::kListPools, 3, {Code::kPermissionDenied, "no"});
  slice_of("node8", "gpus");
  pass(6h, 1min);
  EXPECT_THAT(publisher.shared_pools(), ElementsAre(Pair("gpus", "node8"))) << "a failed list changes nothing";
}

TEST_F(PoolNeighboursTest, OfAPoolThatIsNoLongerWantedAreForgotten) {
  want_pool("gpus");
  slice_of("node8", "gpus");
  start();
  pass(1min, 1s);
  EXPECT_THAT(publisher.shared_pools(), ElementsAre(Pair("gpus", "node8")));
  want_pool("node7");
  EXPECT_THAT(publisher.shared_pools(), IsEmpty());
}

}  // namespace
}  // namespace cardcage
