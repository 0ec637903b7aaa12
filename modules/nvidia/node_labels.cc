#include "modules/nvidia/node_labels.h"

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

#include "modules/common/pci_function.h"
#include "modules/nvidia/vgpu_host.h"

namespace cardcage::nvidia {
namespace {

// Sets the parts, "major" and so on, and "full". A version of two parts has an empty third one.
void add_version(const std::string& name, const std::string& version, std::initializer_list<const char*> parts,
                 LabelMap& labels) {
  std::istringstream text(version);
  for (const char* part : parts) {
    std::string number;
    std::getline(text, number, '.');
    labels[name + "." + part] = label_value(number);
  }
}

void add_versions(const DriverVersions& versions, LabelMap& labels) {
  if (!versions.driver.empty()) {
    add_version("nvidia.com/cuda.driver-version", versions.driver, {"major", "minor", "revision"}, labels);
    labels["nvidia.com/cuda.driver-version.full"] = label_value(versions.driver);
    add_version("nvidia.com/cuda.driver", versions.driver, {"major", "minor", "rev"}, labels);  // deprecated
  }
  if (!versions.cuda.empty()) {
    add_version("nvidia.com/cuda.runtime-version", versions.cuda, {"major", "minor"}, labels);
    labels["nvidia.com/cuda.runtime-version.full"] = label_value(versions.cuda);
    add_version("nvidia.com/cuda.runtime", versions.cuda, {"major", "minor"}, labels);  // deprecated
  }
}

// The mode by the class of the PCI functions: VGA controllers or 3D controllers.
const char* mode_of(const Inventory& inventory, const Node& node) {
  std::set<std::string> classes;
  for (const SeenGpu& seen : inventory.gpus) classes.insert(hardware::ids_of(node.sysfs, seen.gpu.bus_id).class_code);
  if (classes == std::set<std::string>{"0x030000"}) return "graphics";
  if (classes == std::set<std::string>{"0x030200"}) return "compute";
  return "unknown";
}

// GPUs of several NVLink domains or cliques have none in common.
void add_clique(const Inventory& inventory, LabelMap& labels) {
  std::set<std::string> cliques;
  for (const SeenGpu& seen : inventory.gpus)
    if (!seen.gpu.clique.empty()) cliques.insert(seen.gpu.clique);
  if (cliques.size() == 1) labels["nvidia.com/gpu.clique"] = label_value(*cliques.begin());
}

void add_vgpu(const Inventory& inventory, const Node& node, LabelMap& labels) {
  bool any = false;
  for (const SeenGpu& seen : inventory.gpus) {
    if (seen.gpu.virtualization != nvml::kVgpuGuest) continue;
    any = true;
    const auto host = read_vgpu_host(node.sysfs, seen.gpu.bus_id);
    if (!host) continue;
    labels["nvidia.com/vgpu.host-driver-version"] = label_value(host->version);
    labels["nvidia.com/vgpu.host-driver-branch"] = label_value(host->branch);
  }
  labels["nvidia.com/vgpu.present"] = any ? "true" : "false";
}

std::string machine_of(const Node& node) {
  std::ifstream file(node.sysfs / "class/dmi/id/product_name");
  std::string name;
  return file && std::getline(file, name) ? label_value(name) : "unknown";
}

}  // namespace

void report_labels(const Inventory& inventory, const Node& node, const LabelPolicy& policy,
                   std::chrono::system_clock::time_point since, cage::Labels& labels) {
  if (inventory.gpus.empty()) return;
  LabelMap found;
  add_resources(inventory, policy, found);
  add_versions(inventory.versions, found);
  add_clique(inventory, found);
  add_vgpu(inventory, node, found);
  const bool capable = std::ranges::any_of(inventory.gpus, [](const SeenGpu& seen) { return seen.gpu.mig_capable; });
  found["nvidia.com/mig.capable"] = capable ? "true" : "false";
  found["nvidia.com/mps.capable"] = "false";  // MPS is for claims: it shares no resource of the device-plugin API
  found["nvidia.com/gpu.mode"] = mode_of(inventory, node);
  found["nvidia.com/gpu.machine"] = machine_of(node);
  if (policy.timestamp)
    found["nvidia.com/gfd.timestamp"] =
        std::to_string(std::chrono::duration_cast<std::chrono::seconds>(since.time_since_epoch()).count());
  for (const auto& [name, value] : found) labels.add(name, value);
}

}  // namespace cardcage::nvidia
