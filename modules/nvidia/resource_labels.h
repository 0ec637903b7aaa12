// Labels about GPUs and MIG instances as resources that pods ask for: what NVIDIA's GPU feature discovery writes for
// each of its MIG strategies.
//
// Source: NVIDIA/k8s-device-plugin, internal/lm/mig-strategy.go and resource.go.
#pragma once

#include <cardcage/sdk.hpp>
#include <map>
#include <string>
#include <string_view>

#include "modules/nvidia/inventory.h"

namespace cardcage::nvidia {

using LabelMap = std::map<std::string, std::string, std::less<>>;

enum class MigStrategy {
  kNone,    // whole GPUs only
  kSingle,  // the instances are the GPUs of a node whose GPUs are all divided alike
  kMixed,   // each profile is a resource of its own
};

// How containers share the devices of a resource. The host shares them, so the operator has to say it twice.
struct SharedResource {
  unsigned replicas = 1;
  bool renamed = false;  // the resource has another name then: products are not marked as shared
};

struct LabelPolicy {
  MigStrategy strategy = MigStrategy::kNone;
  std::map<std::string, SharedResource, std::less<>> shared;  // by resource: "gpu", "mig-1g.10gb"
  bool timestamp = true;
};

// Throws cage::Error if an option is wrong.
LabelPolicy label_policy(const cage::Values& options);

// A value that Kubernetes takes, as GPU feature discovery makes it: "Standard PC (Q35 + ICH9, 2009)" to
// "Standard-PC-Q35-ICH9-2009".
std::string label_value(std::string_view text);

// Adds nothing if there is no GPU.
void add_resources(const Inventory& inventory, const LabelPolicy& policy, LabelMap& labels);

}  // namespace cardcage::nvidia
