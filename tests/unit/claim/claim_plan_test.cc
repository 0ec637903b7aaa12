#include "host/claim/claim_plan.h"

#include <gmock/gmock.h>

#include "tests/unit/claim/claim_world.h"

namespace cardcage {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using ClaimPlanTest = ClaimWorld;

struct BadClaim {
  const char* name;
  void (*spoil)(Claim&);
  Code code;
  const char* text;
  friend void PrintTo(const BadClaim& bad, std::ostream* out) { *out << bad.name; }
};
class BadClaimTest : public ClaimPlanTest, public ::testing::WithParamInterface<BadClaim> {};

INSTANTIATE_TEST_SUITE_P(
    Claims, BadClaimTest,
    ::testing::Values(
        BadClaim{"Replaced", [](Claim& c) { c.ref.uid = "u9"; }, Code::kFailedPrecondition, "it was replaced"},
        BadClaim{"NotAllocated", [](Claim& c) { c.allocated = false; }, Code::kFailedPrecondition, "not allocated"},
        BadClaim{"OfAnotherDriver", [](Claim& c) { c.allocations[0].driver = "x.y"; }, Code::kNotFound,
                 "none of its devices is of driver 'gpu.example.com'"},
        BadClaim{"WithoutDevices", [](Claim& c) { c.allocations.clear(); }, Code::kNotFound, "none of its devices"},
        BadClaim{"UnknownDevice", [](Claim& c) { c.allocations[0].device = "gpu-x"; }, Code::kNotFound,
                 "device 'gpu-x' of pool 'node': no module reports it"},
        BadClaim{"UnknownPool", [](Claim& c) { c.allocations[0].pool = "moon"; }, Code::kNotFound,
                 "device 'gpu-0' of pool 'moon'"},
        BadClaim{"DeviceTwice", [](Claim& c) { c.allocations.push_back(c.allocations[0]); }, Code::kFailedPrecondition,
                 "allocated twice"},
        BadClaim{"ShareThatIsAPath", [](Claim& c) { c.allocations[0].share_id = "../../x"; }, Code::kInvalidArgument,
                 "has no valid CDI name"},
        BadClaim{"MalformedParameters", [](Claim& c) { c.configs = {{ConfigSource::kClaim, {}, kDriver, "{\"a\":"}}; },
                 Code::kInvalidArgument, "configuration of the claim: parameters are not JSON"},
        BadClaim{"ParametersThatAreNoObject",
                 [](Claim& c) { c.configs = {{ConfigSource::kClass, {}, kDriver, "[1]"}}; }, Code::kInvalidArgument,
                 "configuration of the device class"},
        BadClaim{"OversizedParameters",
                 [](Claim& c) {
                   c.configs = {{ConfigSource::kClaim, {}, kDriver, "{\"a\":\"" + std::string(11'000, 'x') + "\"}"}};
                 },
                 Code::kInvalidArgument, "at most 10240 are allowed"},
        BadClaim{"ConfigurationOfANewType", [](Claim& c) { c.configs = {{ConfigSource::kClass, {}, "", ""}}; },
                 Code::kInvalidArgument, "this cardcage does not know its type"}),
    [](const auto& each) { return std::string(each.param.name); });

TEST_P(BadClaimTest, IsRefusedBeforeAnythingIsTouched) {
  Claim claim = a_claim("u1", {an_allocation("gpu-0")});
  GetParam().spoil(claim);
  cluster.put_claim(claim);
  const auto refused = prepare("u1");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, GetParam().code);
  EXPECT_THAT(refused.error().message, AllOf(HasSubstr("claim team/claim-u1: "), HasSubstr(GetParam().text)));
  EXPECT_THAT(gpus->calls, IsEmpty());
  EXPECT_EQ(record("u1"), nullptr);
  EXPECT_FALSE(has_cdi_file("u1"));
  EXPECT_TRUE(unprepare("u1"));
}

TEST_F(ClaimPlanTest, ADeviceThatAnotherClaimHoldsIsRefusedAndTheHolderNamed) {
  ASSERT_TRUE(prepare_new("u1", {an_allocation("gpu-0")}));
  const auto refused = prepare_new("u2", {an_allocation("gpu-0")});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kAlreadyExists);
  EXPECT_THAT(refused.error().message,
              HasSubstr("device 'gpu-0' is not free: it is prepared for claim team/claim-u1 (UID u1)"));
  ASSERT_TRUE(unprepare("u1"));
  EXPECT_TRUE(prepare("u2"));
}

TEST_F(ClaimPlanTest, OnlyOneOfTwoConcurrentClaimsGetsTheDevice) {
  cluster.put_claim(a_claim("u1", {an_allocation("gpu-0")}));
  cluster.put_claim(a_claim("u2", {an_allocation("gpu-0")}));
  const auto one = begin(preparer->prepare(ref_of("u1"), soon()));
  const auto two = begin(preparer->prepare(ref_of("u2"), soon()));
  ASSERT_TRUE(until([&] { return one->has_value() && two->has_value(); }));
  EXPECT_NE((*one)->has_value(), (*two)->has_value());
  EXPECT_THAT(gpus->holds, SizeIs(1));
}

TEST_F(ClaimPlanTest, SharesAndAdminAccessDoNotConflict) {
  const auto share = [](const std::string& id) {
    Allocation allocation = an_allocation("gpu-0");
    allocation.share_id = id;
    return allocation;
  };
  Allocation admin = an_allocation("gpu-0", "watch");
  admin.admin_access = true;
  ASSERT_TRUE(prepare_new("u1", {share("share-a"), share("share-b")}));
  EXPECT_TRUE(prepare_new("u2", {share("share-c")}));
  EXPECT_FALSE(prepare_new("u3", {share("share-a")})) << "a share is for one claim";
  EXPECT_FALSE(prepare_new("u4", {an_allocation("gpu-0")})) << "the whole device is not free";
  const auto watching = prepare_new("u5", {admin, admin});
  ASSERT_TRUE(watching) << text_of(watching);
  EXPECT_THAT(watching->at(0).cdi_device_ids, ElementsAre("cardcage.gpu.example.com/claim=u5-gpu-0"));
  EXPECT_THAT(watching->at(1).cdi_device_ids, ElementsAre("cardcage.gpu.example.com/claim=u5-gpu-0_2"));
  ASSERT_TRUE(prepare_new("u6", {[] {
                            Allocation watch = an_allocation("gpu-1");
                            watch.admin_access = true;
                            return watch;
                          }()}));
  EXPECT_TRUE(prepare_new("u7", {an_allocation("gpu-1")})) << "admin access does not hold a device";
}

TEST_F(ClaimPlanTest, AWholeDeviceAndItsPartitionAreNotHeldByTwoClaims) {
  directory.device("gpu-1").parent_id = "GPU-0";
  directory.device("gpu-2").parent_id = "GPU-1";
  Allocation admin = an_allocation("gpu-0");
  admin.admin_access = true;
  ASSERT_TRUE(prepare_new("u1", {admin}));
  ASSERT_TRUE(prepare_new("u2", {an_allocation("gpu-2")})) << "admin access does not hold a device";
  const auto refused = prepare_new("u3", {an_allocation("gpu-0")});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kAlreadyExists);
  EXPECT_THAT(refused.error().message,
              AllOf(HasSubstr("device 'gpu-0' is not free: device 'gpu-2', a part of the same hardware"),
                    HasSubstr("claim team/claim-u2 (UID u2)")));
  ASSERT_TRUE(unprepare("u2"));
  ASSERT_TRUE(prepare("u3"));
  EXPECT_FALSE(prepare_new("u4", {an_allocation("gpu-2")}));
  const auto both = prepare_new("u5", {an_allocation("gpu-4"), an_allocation("gpu-5")});
  EXPECT_TRUE(both) << text_of(both);
  directory.device("gpu-7").parent_id = "GPU-6";
  const auto overlapping = prepare_new("u6", {an_allocation("gpu-6"), an_allocation("gpu-7")});
  ASSERT_FALSE(overlapping);
  EXPECT_THAT(overlapping.error().message, HasSubstr("cannot be held together with device 'gpu-6'"));
}

// Two pools publish the same counter set, and the scheduler counts each separately.
TEST_F(ClaimPlanTest, DevicesDoNotTakeMoreOfACounterThanThereIs) {
  directory.counter_sets["card"]["slots"] = Quantity{.value = 4};
  for (const auto& [name, slots] : {std::pair("gpu-0", 4), {"gpu-1", 2}, {"gpu-2", 2}, {"gpu-3", 1}})
    directory.device(name).consumes = {{"card", {{"slots", Quantity{.value = slots}}}}};
  ASSERT_TRUE(prepare_new("u1", {an_allocation("gpu-1")}));
  ASSERT_TRUE(prepare_new("u2", {an_allocation("gpu-2")}));
  const auto refused = prepare_new("u3", {an_allocation("gpu-3")});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("device 'gpu-3' is not free: device 'gpu-2', a part of the same"));
  EXPECT_FALSE(prepare_new("u4", {an_allocation("gpu-0")}));
  ASSERT_TRUE(unprepare("u1"));
  EXPECT_TRUE(prepare("u3"));
}

}  // namespace
}  // namespace cardcage
