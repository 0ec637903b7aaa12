// Labels that describe GPUs and MIG instances as resources of pods, as NVIDIA's GPU feature discovery writes them for
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
  kSingle,  // instances count as GPUs on a node whose GPUs are all divided alike
  kMixed,   // each profile is a resource of its own
};

// How containers share the devices of a resource. The host shares them, so the operator has to configure it twice.
struct SharedResource {
  unsigned replicas = 1;
  bool renamed = false;  // the resource has another name: products are not marked as shared
};

struct LabelPolicy {
  MigStrategy strategy = MigStrategy::kNone;
  std::map<std::string, SharedResource, std::less<>> shared;  // by resource: "gpu", "mig-1g.10gb"
  bool timestamp = true;
};

// Throws cage::Error for an invalid option.
LabelPolicy label_policy(const cage::Values& options);

// A valid label value, made as GPU feature discovery makes it: "Standard-PC-Q35-ICH9-2009" from "Standard PC (Q35 +
// ICH9, 2009)".
std::string label_value(std::string_view text);

// Adds nothing on a node without GPUs.
void add_resources(const Inventory& inventory, const LabelPolicy& policy, LabelMap& labels);

}  // namespace cardcage::nvidia
