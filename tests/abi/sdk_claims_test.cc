// Calls about claims and devices, in modules written with sdk.hpp and with the crate abi/rust.
#include "tests/abi/sdk_fixture.h"

namespace cardcage::raw {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Pair;

class SdkClaims : public Sdk {};
INSTANTIATE_TEST_SUITE_P(In, SdkClaims, testing::Values(kCpp, kRust), name_of);

TEST_P(SdkClaims, PreStartReachesTheModuleAndAnExceptionFailsIt) {
  Instance instance(everything(), with());
  const Claim claim("u-1", {{.device = "whole"}}, "saved", 7);
  const auto* family = static_cast<const cage_pre_start*>(everything()->extension(CAGE_EXT_PRE_START));
  expect_size(*family);
  const Call call;
  EXPECT_EQ(family->pre_start(instance.get(), call.get(), claim.get()), CAGE_OK) << call.explanation;
  EXPECT_THAT(instance.host.logs, Contains("about to start whole of u-1 with saved"));
  Call cancelled;
  cancelled.cancel();
  EXPECT_EQ(family->pre_start(instance.get(), cancelled.get(), claim.get()), CAGE_CANCELLED);
}

TEST_P(SdkClaims, AttachAndDetachGetThePod) {
  Instance instance(everything(), with());
  const Claim claim("u-1", {{.device = "whole"}}, "saved", 7);
  const auto* family = static_cast<const cage_sandbox*>(everything()->extension(CAGE_EXT_SANDBOX));
  expect_size(*family);
  const cage_pod pod{.struct_size = sizeof pod,
                     .network_namespace = 41,
                     .route_socket = 42,
                     .reserved = 0,
                     .uid = CAGE_LIT("p-1"),
                     .name_space = CAGE_LIT("ns"),
                     .name = CAGE_LIT("pod"),
                     .network_namespace_path = CAGE_LIT("/run/netns/pod")};
  const Call call;
  EXPECT_EQ(family->attach(instance.get(), call.get(), claim.get(), &pod), CAGE_OK) << call.explanation;
  EXPECT_THAT(instance.host.logs, Contains("attach u-1 of '' to ns/pod (p-1) in 41 at /run/netns/pod by 42"));
  EXPECT_EQ(family->detach(instance.get(), call.get(), claim.get(), &pod), CAGE_OK) << call.explanation;
  EXPECT_THAT(instance.host.logs, Contains("detach u-1 from pod"));
  Call cancelled;
  cancelled.cancel();
  EXPECT_EQ(family->attach(instance.get(), cancelled.get(), claim.get(), &pod), CAGE_CANCELLED);
}

TEST_P(SdkClaims, AResetReachesTheModule) {
  Instance instance(everything(), with());
  const auto* family = static_cast<const cage_reset*>(everything()->extension(CAGE_EXT_RESET));
  ASSERT_NE(family, nullptr);
  expect_size(*family);
  const Call call;
  EXPECT_EQ(family->reset(instance.get(), call.get(), CAGE_LIT("whole")), CAGE_OK) << call.explanation;
  EXPECT_THAT(instance.host.healths,
              ElementsAre(Pair("whole", ReportedHealth{CAGE_HEALTH_OK, "", "", CAGE_TAINT_NONE, "Ecc"})));
  EXPECT_THAT(instance.host.logs, Contains("reset whole"));
  Call cancelled;
  cancelled.cancel();
  EXPECT_EQ(family->reset(instance.get(), cancelled.get(), CAGE_LIT("whole")), CAGE_CANCELLED);
}

TEST_P(SdkClaims, ConditionsOfABindingArrive) {
  Instance instance(everything(), with());
  const auto* family = static_cast<const cage_bind*>(everything()->extension(CAGE_EXT_BIND));
  ASSERT_NE(family, nullptr);
  expect_size(*family);
  const Claim claim("u-1", {{.device = "part"}, {.device = "whole"}});
  const Call call;
  BindSink sink;
  EXPECT_EQ(family->bind(instance.get(), call.get(), claim.get(), sink.get()), CAGE_OK) << call.explanation;
  const auto stated =
      ElementsAre("Ready is true: Loaded", "example.com/Attached is unknown: Asked, the fabric has not answered",
                  "Failed is false: NoFault");
  EXPECT_THAT(sink.conditions, ElementsAre(Pair(0, stated), Pair(1, stated)));
  Call cancelled;
  cancelled.cancel();
  EXPECT_EQ(family->bind(instance.get(), cancelled.get(), claim.get(), sink.get()), CAGE_CANCELLED);
}

TEST_P(SdkClaims, OneDeviceIsQuiescedAndResumed) {
  Instance instance(everything(), with());
  const auto* family = static_cast<const cage_quiesce*>(everything()->extension(CAGE_EXT_QUIESCE));
  expect_size(*family);
  const cage_str device = CAGE_LIT("whole");
  const Call call;
  EXPECT_EQ(family->quiesce(instance.get(), call.get(), device), CAGE_OK) << call.explanation;
  EXPECT_EQ(family->resume(instance.get(), call.get(), device), CAGE_OK) << call.explanation;
  EXPECT_THAT(instance.host.logs, ::testing::IsSupersetOf({"released whole", "took back whole"}));
  Call cancelled;
  cancelled.cancel();
  EXPECT_EQ(family->quiesce(instance.get(), cancelled.get(), device), CAGE_CANCELLED);
}

}  // namespace
}  // namespace cardcage::raw
