#include "host/slices/slice_device.h"

#include "host/model/naming.h"

namespace cardcage {

SliceDevice slice_device(const Device& device, const std::string& driver) {
  SliceDevice published;
  published.name = device.name;
  published.attributes = device.attributes;
  published.capacity = device.capacity;
  published.consumes = device.consumes;
  published.allow_multiple_allocations = device.shared;
  const Health& health = device.health;
  if (const TaintEffect effect = advised_taint(health); effect != TaintEffect::kNone) {
    DeviceTaint& taint = published.taints.emplace_back();
    taint.key = driver + "/unhealthy";
    if (is_label_value(health.reason)) taint.value = health.reason;
    taint.effect = effect == TaintEffect::kNoExecute ? "NoExecute" : "NoSchedule";
  }
  return published;
}

}  // namespace cardcage
