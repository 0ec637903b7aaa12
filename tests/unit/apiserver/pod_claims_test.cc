#include <gmock/gmock.h>

#include "host/apiserver/claim_json.h"
#include "tests/unit/apiserver/api_server_fixture.h"

namespace cardcage {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

PodClaims claims_of(std::string_view pod) { return pod_claims_from_json(json::parse(pod)); }

TEST(PodClaims, AreThoseOfTemplatesAndOfExtendedResources) {
  const PodClaims claims = claims_of(R"({"metadata":{"uid":"p1"},"status":{
      "resourceClaimStatuses":[{"name":"gpu","resourceClaimName":"train-gpu-x7k2p"},{"name":"not-needed"}],
      "extendedResourceClaimStatus":{"resourceClaimName":"train-extended-resources-9rq4d","requestMappings":[]}}})");
  EXPECT_EQ(claims.pod_uid, "p1");
  EXPECT_THAT(claims.names, ElementsAre("train-gpu-x7k2p", "train-extended-resources-9rq4d"));
}

TEST(PodClaims, NamesThatNoClaimCanHaveAreLeftOut) {
  EXPECT_THAT(claims_of(R"({"status":{"resourceClaimStatuses":[{"resourceClaimName":"../secrets/root"},
      {"resourceClaimName":"a?watch=1"},{"resourceClaimName":7},"text",null]}})")
                  .names,
              IsEmpty());
  EXPECT_THAT(claims_of("[]").names, IsEmpty());
}

using ReadsPodsTest = ApiServerFixture;

TEST_F(ReadsPodsTest, ForTheNamesOfTheirClaims) {
  server.put("namespaces/ns/pods", json::parse(R"({"metadata":{"namespace":"ns","name":"p","uid":"u-7"},
      "status":{"resourceClaimStatuses":[{"name":"gpu","resourceClaimName":"p-gpu-abcde"}]}})")
                                       .as_object());
  const auto read = [&](const std::string& pod) {
    return run(api->get_pod_claims("ns", pod, within_time(std::chrono::seconds(20))));
  };
  const auto claims = read("p");
  ASSERT_TRUE(claims) << claims.error().message;
  EXPECT_EQ(claims->pod_uid, "u-7");
  EXPECT_THAT(claims->names, ElementsAre("p-gpu-abcde"));
  EXPECT_EQ(read("gone").error().code, Code::kNotFound);
  EXPECT_THAT(read("../nodes").error().message, HasSubstr("Pod name"));
}

}  // namespace
}  // namespace cardcage
