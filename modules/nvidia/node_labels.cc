#include "modules/nvidia/node_labels.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <map>
#include <sstream>

namespace cardcage::nvidia {
namespace {

constexpr std::size_t kMostValue = 63;  // of a label in Kubernetes

// Letters, digits, '-', '_' and '.', with a letter or digit at both ends.
std::string label_value(std::string text) {
  const auto is_plain = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  for (char& c : text)
    if (!is_plain(c) && c != '_' && c != '.') c = '-';
  text.resize(std::min(text.size(), kMostValue));
  while (!text.empty() && !is_plain(text.back())) text.pop_back();
  const auto begin = std::ranges::find_if(text, is_plain);
  return {begin, text.end()};
}

std::string family(const Gpu& gpu) {
  if (!gpu.compute_capability) return {};
  const auto [major, minor] = *gpu.compute_capability;
  switch (major) {
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

void add_version(cage::Labels& labels, const std::string& name, const std::string& version,
                 std::initializer_list<const char*> parts) {
  if (version.empty()) return;
  std::istringstream text(version);
  std::string part;
  for (const char* of : parts)
    labels.add(name + "." + of, std::getline(text, part, '.') ? label_value(part) : std::string());
  labels.add(name + ".full", label_value(version));
}

// The GPUs of one product; nodes have one product as a rule, and the labels have room for one.
void add_gpus(cage::Labels& labels, const std::vector<const Gpu*>& gpus) {
  const Gpu& first = *gpus.front();
  labels.add("nvidia.com/gpu.product", label_value(first.product));
  labels.add("nvidia.com/gpu.count", std::to_string(gpus.size()));
  if (first.memory) labels.add("nvidia.com/gpu.memory", std::to_string(*first.memory >> 20));
  if (const std::string name = family(first); !name.empty()) labels.add("nvidia.com/gpu.family", name);
  if (first.compute_capability) {
    labels.add("nvidia.com/gpu.compute.major", std::to_string(first.compute_capability->first));
    labels.add("nvidia.com/gpu.compute.minor", std::to_string(first.compute_capability->second));
  }
}

// For each profile the number of instances and their size.
void add_instances(cage::Labels& labels, const Inventory& inventory) {
  std::map<std::string, std::pair<const MigProfile*, int>> found;
  for (const SeenGpu& seen : inventory.gpus)
    for (const MigInstance& instance : seen.instances) {
      const auto profile = std::ranges::find(seen.profiles, instance.profile, &MigProfile::id);
      if (profile == seen.profiles.end()) continue;
      auto& entry = found[profile->name];
      entry.first = &*profile;
      ++entry.second;
    }
  for (const auto& [name, entry] : found) {
    std::string resource = "nvidia.com/mig-" + name;
    std::ranges::replace(resource, '+', '.');
    const MigProfile& profile = *entry.first;
    labels.add(resource + ".count", std::to_string(entry.second));
    labels.add(resource + ".memory", std::to_string(profile.memory_mib));
    labels.add(resource + ".multiprocessors", std::to_string(profile.multiprocessors));
    labels.add(resource + ".slices.gi", std::to_string(profile.compute_slices));
    labels.add(resource + ".slices.ci", std::to_string(profile.compute_slices));
    labels.add(resource + ".engines.copy", std::to_string(profile.copy_engines));
    labels.add(resource + ".engines.decoder", std::to_string(profile.decoders));
    labels.add(resource + ".engines.encoder", std::to_string(profile.encoders));
    labels.add(resource + ".engines.jpeg", std::to_string(profile.jpeg_engines));
    labels.add(resource + ".engines.ofa", std::to_string(profile.ofa_engines));
  }
}

}  // namespace

void report_labels(const Inventory& inventory, const Node& node, cage::Labels& labels) {
  if (inventory.gpus.empty()) return;
  add_version(labels, "nvidia.com/cuda.driver-version", inventory.versions.driver, {"major", "minor", "revision"});
  add_version(labels, "nvidia.com/cuda.runtime-version", inventory.versions.cuda, {"major", "minor"});
  std::vector<const Gpu*> gpus;
  for (const SeenGpu& seen : inventory.gpus)
    if (seen.gpu.product == inventory.gpus.front().gpu.product) gpus.push_back(&seen.gpu);
  add_gpus(labels, gpus);
  const bool capable = std::ranges::any_of(inventory.gpus, [](const SeenGpu& seen) { return seen.gpu.mig_capable; });
  labels.add("nvidia.com/mig.capable", capable ? "true" : "false");
  add_instances(labels, inventory);
  if (const std::string& clique = inventory.gpus.front().gpu.clique; !clique.empty())
    labels.add("nvidia.com/gpu.clique", label_value(clique));
  std::ifstream machine(node.sysfs / "class/dmi/id/product_name");
  if (std::string name; std::getline(machine, name)) labels.add("nvidia.com/gpu.machine", label_value(name));
}

}  // namespace cardcage::nvidia
