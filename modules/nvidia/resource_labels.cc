#include "modules/nvidia/resource_labels.h"

#include <algorithm>
#include <cctype>
#include <sstream>
#include <vector>

#include "modules/common/text.h"
#include "modules/nvidia/mebibyte.h"

namespace cardcage::nvidia {
namespace {

constexpr std::size_t kMostValue = 63;  // Kubernetes' limit for a label
constexpr const char* kWhole = "gpu";
const std::string kDomain = "nvidia.com/";

bool is_plain(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

// Parses "gpu=4" or "mig-1g.10gb=2 renamed".
std::pair<std::string, SharedResource> parse_shared(std::string_view entry) {
  const auto refuse = [&] {
    throw cage::Error(CAGE_INVALID_ARGUMENT, "label_replicas: '" + std::string(entry) +
                                                 "' is not a resource and a number; write \"gpu=4\", or \"gpu=4 "
                                                 "renamed\" if the shared resource has a name of its own");
  };
  const auto equals = entry.find('=');
  if (equals == std::string_view::npos || equals == 0) refuse();
  std::string_view rest = entry.substr(equals + 1);
  SharedResource shared;
  constexpr std::string_view kRenamed = " renamed";
  if (rest.ends_with(kRenamed)) {
    shared.renamed = true;
    rest.remove_suffix(kRenamed.size());
  }
  shared.replicas = hardware::number_of<unsigned>(rest).value_or(0);
  if (shared.replicas == 0) refuse();
  std::string_view resource = entry.substr(0, equals);
  if (resource.starts_with(kDomain)) resource.remove_prefix(kDomain.size());
  return {std::string(resource), shared};
}

std::string family(std::pair<int, int> capability) {
  const auto [major, minor] = capability;
  switch (major) {
    case 1: return "tesla";
    case 2: return "fermi";
    case 3: return "kepler";
    case 5: return "maxwell";
    case 6: return "pascal";
    case 7: return minor < 5 ? "volta" : "turing";
    case 8: return minor < 9 ? "ampere" : "ada-lovelace";
    case 9: return "hopper";
    case 10:
    case 12: return "blackwell";
    case 13: return "rubin";
    default: return "undefined";
  }
}

// Writes the labels of one resource.
class ResourceLabels {
 public:
  ResourceLabels(std::string resource, LabelMap& labels) : resource_(std::move(resource)), labels_(labels) {}

  template <class T>
  void set(const char* name, const T& value) {
    std::ostringstream text;
    text << value;
    labels_[kDomain + resource_ + "." + name] = text.str();
  }

  // A resource that must not be shared has 0 replicas.
  void describe(const std::string& product, std::size_t count, const SharedResource& shared) {
    const bool is_shared = shared.replicas > 1;
    set("product", label_value(product + (is_shared && !shared.renamed ? "-SHARED" : "")));
    set("count", count);
    set("replicas", shared.replicas);
    set("sharing-strategy", is_shared ? "time-slicing" : "none");
  }

 private:
  const std::string resource_;
  LabelMap& labels_;
};

SharedResource shared_of(const LabelPolicy& policy, std::string_view resource) {
  const auto found = policy.shared.find(resource);
  return found == policy.shared.end() ? SharedResource{} : found->second;
}

// The labels have room for one product: that of the first GPU that is not in MIG mode, if there is one.
void add_gpus(const Inventory& inventory, const LabelPolicy& policy, LabelMap& labels) {
  const auto whole = std::ranges::find(inventory.gpus, false, [](const SeenGpu& seen) { return seen.gpu.mig_enabled; });
  const bool any_whole = whole != inventory.gpus.end();
  const Gpu& first = any_whole ? whole->gpu : inventory.gpus.front().gpu;
  const auto count =
      std::ranges::count(inventory.gpus, first.product, [](const SeenGpu& seen) { return seen.gpu.product; });
  ResourceLabels out(kWhole, labels);
  out.describe(label_value(first.product), static_cast<std::size_t>(count),
               any_whole ? shared_of(policy, kWhole) : SharedResource{.replicas = 0});
  if (first.memory) out.set("memory", *first.memory / kMib);
  if (!first.compute_capability) return;
  out.set("family", family(*first.compute_capability));
  out.set("compute.major", first.compute_capability->first);
  out.set("compute.minor", first.compute_capability->second);
}

// The instances of one profile.
struct Instances {
  const Gpu* gpu = nullptr;  // the GPU of the first instance
  const MigProfile* profile = nullptr;
  std::size_t count = 0;
};
std::map<std::string, Instances> instances_by_profile(const Inventory& inventory) {
  std::map<std::string, Instances> found;
  for (const SeenGpu& seen : inventory.gpus) {
    for (const MigInstance& instance : seen.instances) {
      const auto profile = std::ranges::find(seen.profiles, instance.profile, &MigProfile::id);
      if (profile == seen.profiles.end()) continue;
      Instances& entry = found[profile->name];
      if (entry.count++ > 0) continue;
      entry.gpu = &seen.gpu;
      entry.profile = &*profile;
    }
  }
  return found;
}

void add_instances(const std::string& resource, const Instances& instances, const LabelPolicy& policy,
                   LabelMap& labels) {
  const MigProfile& profile = *instances.profile;
  ResourceLabels out(resource, labels);
  out.describe(label_value(instances.gpu->product) + "-MIG-" + label_value(profile.name), instances.count,
               shared_of(policy, resource));
  out.set("memory", profile.memory_mib);
  out.set("multiprocessors", profile.multiprocessors);
  out.set("slices.gi", profile.compute_slices);
  out.set("slices.ci", profile.compute_slices);
  out.set("engines.copy", profile.copy_engines);
  out.set("engines.decoder", profile.decoders);
  out.set("engines.encoder", profile.encoders);
  out.set("engines.jpeg", profile.jpeg_engines);
  out.set("engines.ofa", profile.ofa_engines);
}

// Labels instances as whole GPUs, or states that they cannot be.
void add_single(const Inventory& inventory, const LabelPolicy& policy, LabelMap& labels) {
  const auto is_divided = [](const SeenGpu& seen) { return seen.gpu.mig_enabled; };
  const auto first = std::ranges::find_if(inventory.gpus, is_divided);
  if (first == inventory.gpus.end()) return;
  const bool any_empty = std::ranges::any_of(
      inventory.gpus, [](const SeenGpu& seen) { return seen.gpu.mig_enabled && seen.instances.empty(); });
  const auto instances = instances_by_profile(inventory);
  if (!any_empty && std::ranges::all_of(inventory.gpus, is_divided) && instances.size() == 1)
    return add_instances(kWhole, instances.begin()->second, policy, labels);
  ResourceLabels out(kWhole, labels);
  out.set("product", label_value(label_value(first->gpu.product) + "-MIG-INVALID"));
  for (const char* name : {"count", "replicas", "memory"}) out.set(name, 0);
}

// Names of labels and resources have a '.' for the '+' of a profile.
void add_mixed(const Inventory& inventory, const LabelPolicy& policy, LabelMap& labels) {
  for (const auto& [name, instances] : instances_by_profile(inventory)) {
    std::string resource = "mig-" + name;
    std::ranges::replace(resource, '+', '.');
    add_instances(resource, instances, policy, labels);
  }
}

}  // namespace

LabelPolicy label_policy(const cage::Values& options) {
  LabelPolicy policy;
  const std::string_view strategy = options.text("label_mig_strategy");
  if (strategy == "single") policy.strategy = MigStrategy::kSingle;
  if (strategy == "mixed") policy.strategy = MigStrategy::kMixed;
  for (const std::string_view entry : options.list("label_replicas")) {
    if (policy.shared.insert(parse_shared(entry)).second) continue;
    throw cage::Error(CAGE_INVALID_ARGUMENT, "label_replicas: '" + std::string(entry) + "' names a resource again");
  }
  policy.timestamp = options.boolean("label_timestamp");
  return policy;
}

std::string label_value(std::string_view text) {
  std::string plain;
  for (const char c : text)
    if (is_plain(c) || c == '-' || c == '_' || c == '.' || c == ' ') plain += c;
  std::istringstream words(plain);
  std::string value;
  for (std::string word; words >> word;) value += (value.empty() ? "" : "-") + word;
  value.resize(std::min(value.size(), kMostValue));
  while (!value.empty() && !is_plain(value.back())) value.pop_back();
  return {std::ranges::find_if(value, is_plain), value.end()};
}

void add_resources(const Inventory& inventory, const LabelPolicy& policy, LabelMap& labels) {
  if (inventory.gpus.empty()) return;
  add_gpus(inventory, policy, labels);
  if (policy.strategy == MigStrategy::kSingle) add_single(inventory, policy, labels);
  if (policy.strategy == MigStrategy::kMixed) add_mixed(inventory, policy, labels);
  if (policy.strategy != MigStrategy::kNone)
    labels[kDomain + "mig.strategy"] = policy.strategy == MigStrategy::kSingle ? "single" : "mixed";
}

}  // namespace cardcage::nvidia
