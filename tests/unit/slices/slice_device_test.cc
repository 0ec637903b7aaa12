#include "host/slices/slice_device.h"

#include <gmock/gmock.h>

namespace cardcage {
namespace {

Device gpu() {
  Device device;
  device.id = "GPU-7";
  device.name = "gpu-7";
  device.attributes["model"] = std::string("A1");
  device.capacity["memory"] = Quantity{.value = 1};
  device.consumes = {{"card", {{"slots", Quantity{.value = 1}}}}};
  device.shared = true;
  device.health = {HealthState::kUnhealthy, "XidError", "fell off the bus", std::chrono::seconds(0),
                   TaintEffect::kNoExecute};
  return device;
}

TEST(SliceDevice, PublishesWhatTheModuleReported) {
  const SliceDevice published = slice_device(gpu(), "gpu.example.com");
  EXPECT_EQ(published.name, "gpu-7");
  EXPECT_EQ(published.attributes, gpu().attributes);
  EXPECT_EQ(published.capacity, gpu().capacity);
  EXPECT_EQ(published.consumes, gpu().consumes);
  EXPECT_TRUE(published.allow_multiple_allocations);
  EXPECT_THAT(published.taints,
              testing::ElementsAre(DeviceTaint{"gpu.example.com/unhealthy", "XidError", "NoExecute", ""}));
}

TEST(SliceDevice, IsTaintedOnlyIfItsHealthSaysSo) {
  Device device = gpu();
  device.health.state = HealthState::kHealthy;
  EXPECT_THAT(slice_device(device, "gpu.example.com").taints, testing::IsEmpty());
  device.health.state = HealthState::kUnknown;
  device.health.taint = TaintEffect::kNone;
  EXPECT_THAT(slice_device(device, "gpu.example.com").taints, testing::IsEmpty());
  device.health.taint = TaintEffect::kNoSchedule;
  device.health.reason = "no label, this";
  EXPECT_THAT(slice_device(device, "gpu.example.com").taints,
              testing::ElementsAre(DeviceTaint{"gpu.example.com/unhealthy", "", "NoSchedule", ""}));
}

}  // namespace
}  // namespace cardcage
