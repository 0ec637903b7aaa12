// Reads the checkpoint of a real kubelet, whose format no fake proves.
#include <gmock/gmock.h>

#include <cstdlib>

#include "host/pods/claim_checkpoint.h"

namespace cardcage {
namespace {

TEST(RealClaimCheckpointTest, NamesThePreparedClaim) {
  const char *root = std::getenv("CARDCAGE_CLUSTER_KUBELET_ROOT"), *uid = std::getenv("CARDCAGE_CLUSTER_CLAIM_UID");
  ASSERT_TRUE(root && uid)
      << "CARDCAGE_CLUSTER_KUBELET_ROOT and CARDCAGE_CLUSTER_CLAIM_UID name no claim for this test";
  const auto uids = read_claim_checkpoint(root);
  ASSERT_TRUE(uids) << uids.error().message;
  EXPECT_THAT(*uids, ::testing::Contains(uid));
}

}  // namespace
}  // namespace cardcage
