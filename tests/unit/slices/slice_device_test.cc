#include "host/slices/slice_device.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "host/slices/slice_view.h"
#include "tests/fakes/every_trait.h"

namespace cardcage {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Device gpu() { return {every_trait(), "GPU-7", "gpu-7"}; }

CauseHealth cause(Health health) { return {std::move(health), {}}; }
Health bad(const std::string& name, TaintEffect effect, const std::string& key = "", const std::string& value = "") {
  return {.state = HealthState::kUnhealthy,
          .reason = name + "Error",
          .taint = effect,
          .cause = name,
          .taint_key = key,
          .taint_value = value};
}
std::vector<DeviceTaint> taints(std::vector<CauseHealth> causes) {
  return slice_device(gpu(), compose(std::move(causes)).causes, "gpu.example.com").taints;
}

TEST(SliceDevice, PublishesWhatTheModuleReported) {
  const SliceDevice published = slice_device(gpu(), {}, "gpu.example.com");
  EXPECT_EQ(published, (SliceDevice{every_trait(), "gpu-7", {}}));
}

TEST(SliceDevice, IsTaintedOnlyIfItsHealthSaysSo) {
  Health health{.state = HealthState::kUnhealthy, .reason = "XidError", .taint = TaintEffect::kNoExecute};
  EXPECT_THAT(taints({cause(health)}),
              ElementsAre(DeviceTaint{"gpu.example.com/unhealthy", "XidError", "NoExecute", ""}));
  health.state = HealthState::kHealthy;
  EXPECT_THAT(taints({cause(health)}), IsEmpty());
  health.state = HealthState::kUnknown;
  health.taint = TaintEffect::kNone;
  EXPECT_THAT(taints({cause(health)}), IsEmpty());
  health.taint = TaintEffect::kNoSchedule;
  health.reason = "no label, this";
  EXPECT_THAT(taints({cause(health)}), ElementsAre(DeviceTaint{"gpu.example.com/unhealthy", "", "NoSchedule", ""}));
}

TEST(SliceDevice, EachCauseHasItsTaintTheStrongestFirst) {
  const Health link{.state = HealthState::kUnmonitored,
                    .taint = TaintEffect::kInform,
                    .cause = "Link",
                    .taint_key = "gpu.example.com/unmonitored"};
  EXPECT_THAT(taints({cause(link), cause(bad("Ecc", TaintEffect::kNoSchedule, "example.com/ecc", "bank-3")),
                      cause(bad("Fan", TaintEffect::kNone)), cause(bad("Xid", TaintEffect::kNoExecute))}),
              ElementsAre(DeviceTaint{"gpu.example.com/unhealthy", "XidError", "NoExecute", ""},
                          DeviceTaint{"example.com/ecc", "bank-3", "NoSchedule", ""},
                          DeviceTaint{"gpu.example.com/unmonitored", "", "None", ""}));
}

TEST(SliceDevice, TheWorstCauseGivesTheTaintOfAKeyAndEffect) {
  Health unknown = bad("Aaa", TaintEffect::kNoSchedule);
  unknown.state = HealthState::kUnknown;
  EXPECT_THAT(
      taints({cause(unknown), cause(bad("Xid", TaintEffect::kNoSchedule)), cause(bad("Fan", TaintEffect::kInform))}),
      ElementsAre(DeviceTaint{"gpu.example.com/unhealthy", "XidError", "NoSchedule", ""},
                  DeviceTaint{"gpu.example.com/unhealthy", "FanError", "None", ""}));
}

TEST(SliceDevice, HasNoMoreTaintsThanTheApiTakes) {
  std::vector<CauseHealth> causes;
  for (int i = 0; i < 20; ++i)
    causes.push_back(cause(bad(fmt::format("C{:02}", i), i == 19 ? TaintEffect::kNoExecute : TaintEffect::kInform,
                               fmt::format("example.com/c{:02}", i))));
  const std::vector<DeviceTaint> kept = taints(causes);
  ASSERT_EQ(kept.size(), kMaxTaints);
  EXPECT_EQ(kept.front().key, "example.com/c19");
  EXPECT_EQ(kept.back().key, "example.com/c14");
}

}  // namespace
}  // namespace cardcage
