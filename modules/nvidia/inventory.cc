#include "modules/nvidia/inventory.h"

#include <algorithm>
#include <set>

namespace cardcage::nvidia {
namespace {

// A GPU for the displays of a workstation, which cannot compute.
bool is_display_only(const Gpu& gpu) { return gpu.product == "DGX Display" || gpu.product == "NVIDIA DGX Display"; }

SeenGpu look_at(const nvml::Library& nvml, nvml::Device device) {
  SeenGpu seen{.gpu = read_gpu(nvml, device), .profiles = {}, .instances = {}, .fault = {}};
  seen.profiles = read_mig_profiles(nvml, device, seen.gpu);
  if (seen.gpu.mig_enabled) seen.instances = read_mig_instances(nvml, device, seen.profiles);
  return seen;
}

SeenGpu known_before(const Inventory& before, const KernelGpu& found) {
  if (const SeenGpu* known = before.find(found.uuid)) return *known;
  SeenGpu unread;
  unread.gpu.uuid = found.uuid;
  unread.gpu.bus_id = found.bus_id;
  unread.gpu.minor = found.minor;
  unread.gpu.product = found.model;
  return unread;
}

}  // namespace

const SeenGpu* Inventory::find(std::string_view uuid) const {
  const auto found = std::ranges::find(gpus, uuid, [](const SeenGpu& seen) { return seen.gpu.uuid; });
  return found == gpus.end() ? nullptr : &*found;
}

Inventory take_inventory(const nvml::Library& nvml, const Node& node, const Inventory& before) {
  Inventory now{.versions = read_versions(nvml), .gpus = {}};
  unsigned count = 0;
  nvml.must(nvml->nvmlDeviceGetCount_v2(&count), "counting the GPUs");
  std::set<std::string> responding;
  std::string fault = "NVML does not list it";
  for (unsigned index = 0; index < count; ++index) {
    try {
      nvml::Device device = nullptr;
      nvml.must(nvml->nvmlDeviceGetHandleByIndex_v2(index, &device),
                "opening the GPU with index " + std::to_string(index));
      SeenGpu seen = look_at(nvml, device);
      responding.insert(seen.gpu.bus_id);
      if (!is_display_only(seen.gpu)) now.gpus.push_back(std::move(seen));
    } catch (const nvml::Failure& failure) {
      fault = failure.what();
    }
  }
  for (const KernelGpu& found : read_kernel_gpus(node.procfs)) {
    if (responding.contains(found.bus_id)) continue;
    SeenGpu silent = known_before(before, found);
    silent.fault = fault;
    if (!is_display_only(silent.gpu)) now.gpus.push_back(std::move(silent));
  }
  std::ranges::sort(now.gpus, {}, [](const SeenGpu& seen) { return seen.gpu.minor; });
  return now;
}

Inventory with_fault(Inventory before, const std::string& fault) {
  for (SeenGpu& seen : before.gpus) seen.fault = fault;
  return before;
}

}  // namespace cardcage::nvidia
