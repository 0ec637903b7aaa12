#include "host/slices/slice_device.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "host/slices/slice_view.h"

namespace cardcage {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Device gpu() {
  Device device;
  device.id = "GPU-7";
  device.name = "gpu-7";
  device.attributes["model"] = std::string("A1");
  device.capacity["memory"] = Quantity{.value = 1};
  device.policies["memory"] = {.default_amount = Quantity{.value = 1}};
  device.consumes = {{"card", {{"slots", Quantity{.value = 1}}}}};
  device.binding = {{"Ready"}, {"Failed"}, true};
  device.shared = true;
  return device;
}

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
  EXPECT_EQ(published.name, "gpu-7");
  EXPECT_EQ(published.attributes, gpu().attributes);
  EXPECT_EQ(published.capacity, gpu().capacity);
  EXPECT_EQ(published.consumes, gpu().consumes);
  EXPECT_TRUE(published.allow_multiple_allocations);
  EXPECT_EQ(published.binding, gpu().binding);
  EXPECT_EQ(published.policies, gpu().policies);
  EXPECT_THAT(published.taints, IsEmpty());
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
