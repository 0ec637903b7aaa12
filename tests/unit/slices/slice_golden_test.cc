// tests/golden/apiserver/pool.json is a published pool that uses every feature.
#include <gmock/gmock.h>

#include "host/apiserver/slice_json.h"
#include "host/core/file.h"
#include "host/slices/slice_publisher.h"
#include "tests/fakes/core_fixture.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/fake_cluster.h"
#include "tests/fakes/source_folder.h"
#include "tests/unit/slices/slice_pool.h"

namespace cardcage {
namespace {

using SliceGoldenTest = CoreFixture;

TEST_F(SliceGoldenTest, APoolWithEveryFeatureIsPublishedAsBefore) {
  FakeClock clock;
  FakeCluster cluster(core, clock);
  cluster.put_node("node7", "node-uid");
  SlicePublisher publisher(core, clock, cluster, {.driver = "gpu.example.com", .node_name = "node7"});
  spawn(core, publisher.run());

  PoolContent content;
  content.counters = {{"card-0", slots(4)}, {"card-1", slots(4)}};
  content.devices = {plain_device("nic-0"), tainted_device("gpu-sick"), partition("gpu-0-part", "card-0"),
                     partition("gpu-1-part", "card-1")};
  content.devices[0].attributes["firmware"] = SemVer{"2.3.0"};
  content.devices[0].attributes["resource.kubernetes.io/pciBusID"] = std::string("0000:3b:00.0");
  content.devices[0].shared = true;
  content.devices[1].taints.push_back({"example.com/ecc", "bank-3", "NoExecute", ""});
  content.devices[1].taints.push_back({"example.com/unmonitored", "", "None", ""});
  publisher.set_pools({{"node7", shared(content)}});
  for (int i = 0; i < 20; ++i) {
    settle();
    clock.advance(std::chrono::milliseconds(5));
  }
  ASSERT_TRUE(publisher.status().in_sync);

  json::array slices;
  for (const auto& [name, slice] : cluster.slices()) slices.push_back(slice_to_json(slice, ResourceApi::kV1));
  const auto golden = read_file(source_folder() / "tests/golden/apiserver/pool.json", 1 << 20).value_or("null");
  EXPECT_EQ(json::value(slices), json::parse(golden)) << json::serialize(slices);
  publisher.stop();
  settle();
}

}  // namespace
}  // namespace cardcage
