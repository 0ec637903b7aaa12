#include "host/pods/claim_checkpoint.h"

#include <gmock/gmock.h>

#include "tests/unit/pods/claim_checkpoint_file.h"

namespace cardcage {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(ClaimCheckpointTest, NamesTheClaimsOfAKubelet) {
  // The text that a kubelet 1.37 writes; the checksum was computed by another implementation of CRC-32.
  const std::string text =
      R"({"Data":"{\"kind\":\"DRACheckpoint\",\"apiVersion\":\"checkpoint.dra.kubelet.k8s.io/v1\",\"ClaimInfoStateList\":[{\"ClaimUID\":\"uid-1\",\"ClaimName\":\"one\",\"Namespace\":\"team\",\"PodUIDs\":{\"pod-1\":{}},\"DriverState\":{\"gpu.example.com\":{\"Devices\":[{\"PoolName\":\"node\",\"DeviceName\":\"gpu-0\",\"ShareID\":null,\"RequestNames\":[\"gpu\"],\"CDIDeviceIDs\":[\"a/b=c\"]}]}}},{\"ClaimUID\":\"uid-2\",\"ClaimName\":\"two\",\"Namespace\":\"team\",\"PodUIDs\":null,\"DriverState\":null}]}","Checksum":1165023667})";
  const auto uids = parse_claim_checkpoint(text);
  ASSERT_TRUE(uids) << uids.error().message;
  EXPECT_THAT(*uids, ElementsAre("uid-1", "uid-2"));
}

TEST(ClaimCheckpointTest, AnythingUnexpectedMeansUnknown) {
  const auto error = [](const std::string& text) { return parse_claim_checkpoint(text).error(); };
  for (const std::string text :
       {"", "{", "[]", "{}", R"({"Data": 7, "Checksum": 7})", R"({"Data": "", "Checksum": 0})"}) {
    EXPECT_EQ(error(text).code, Code::kDataLoss) << text;
    EXPECT_THAT(error(text).message, HasSubstr("not a checkpoint of claims")) << text;
  }
  EXPECT_EQ(error(R"({"Data": "{}", "Checksum": 1})").message, "its checksum is wrong");
  EXPECT_EQ(error(claim_checkpoint_of(R"({"kind": "Pod", "ClaimInfoStateList": []})")).message,
            "it is of another kind");
  EXPECT_EQ(error(claim_checkpoint_of(R"({"kind": "DRACheckpoint", "ClaimInfoStateList": [{}]})")).code,
            Code::kDataLoss);
}

TEST(ClaimCheckpointTest, AMissingFileNamesNoClaimsOnlyInAKubeletsFolder) {
  const ScratchFolder root;
  EXPECT_THAT(read_claim_checkpoint(root / "elsewhere").error().message, HasSubstr("set node.kubelet_root"));
  EXPECT_THAT(read_claim_checkpoint(root.path()).error().message,
              HasSubstr("'" + root.path().native() + "' has no folder 'pods'"));
  std::filesystem::create_directory(root / "pods");
  EXPECT_THAT(read_claim_checkpoint(root.path()).value(), IsEmpty());
  write_claim_checkpoint(root.path(), {"uid-1"});
  EXPECT_THAT(read_claim_checkpoint(root.path()).value(), ElementsAre("uid-1"));
  write_claim_checkpoint(root.path(), {});
  EXPECT_THAT(read_claim_checkpoint(root.path()).value(), IsEmpty());
  std::ofstream(root / "dra_manager_state") << "{";
  EXPECT_THAT(read_claim_checkpoint(root.path()).error().message,
              HasSubstr("the kubelet's checkpoint '" + (root / "dra_manager_state").native() + "'"));
}

}  // namespace
}  // namespace cardcage
