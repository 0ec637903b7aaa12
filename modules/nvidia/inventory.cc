#include "modules/nvidia/inventory.h"

#include <algorithm>

namespace cardcage::nvidia {
namespace {

SeenGpu known_before(const Inventory& before, const KernelGpu& found) {
  if (const SeenGpu* known = before.at(found.bus_id)) return *known;
  SeenGpu unread;
  unread.gpu.uuid = found.uuid;
  unread.gpu.bus_id = found.bus_id;
  unread.gpu.minor = found.minor;
  unread.gpu.product = found.model;
  return unread;
}

SeenGpu look_at(const nvml::Library& nvml, const KernelGpu& found, const Inventory& before, bool divides) {
  bool is_read = false;
  try {
    nvml::Device device = nullptr;
    // Opens it by the address: a search by index or UUID attaches other GPUs and fails with them.
    nvml.must(nvml->nvmlDeviceGetHandleByPciBusId_v2(found.bus_id.c_str(), &device), "opening GPU " + found.bus_id);
    SeenGpu seen;
    seen.gpu = read_gpu(nvml, device);
    is_read = true;
    if (divides || seen.gpu.mig_enabled) seen.profiles = read_mig_profiles(nvml, device, seen.gpu);
    if (seen.gpu.mig_enabled) seen.instances = read_mig_instances(nvml, device, seen.profiles);
    return seen;
  } catch (const nvml::Failure& failure) {
    SeenGpu silent = known_before(before, found);
    silent.fault = failure.what();
    silent.has_driver = true;
    // A call about its instances may fail although they exist.
    silent.lost = !is_read && (failure.code() == nvml::kGpuIsLost || failure.code() == nvml::kGpuNotFound);
    return silent;
  }
}

}  // namespace

const SeenGpu* Inventory::find(std::string_view uuid) const {
  const auto found = std::ranges::find(gpus, uuid, [](const SeenGpu& seen) { return seen.gpu.uuid; });
  return found == gpus.end() ? nullptr : &*found;
}

const SeenGpu* Inventory::at(std::string_view bus_id) const {
  const auto found = std::ranges::find(gpus, bus_id, [](const SeenGpu& seen) { return seen.gpu.bus_id; });
  return found == gpus.end() ? nullptr : &*found;
}

Inventory take_inventory(const nvml::Library& nvml, const Node& node, const Inventory& before,
                         const std::set<std::string>& released, bool divides) {
  Inventory now{.versions = read_versions(nvml), .gpus = {}};
  for (const KernelGpu& found : read_kernel_gpus(node.procfs)) {
    SeenGpu seen =
        released.contains(found.bus_id) ? known_before(before, found) : look_at(nvml, found, before, divides);
    seen.released = released.contains(found.bus_id);
    const bool has_identity = !seen.gpu.uuid.empty();  // false if the GPU never responded
    if (has_identity && !is_display_only(seen.gpu.product)) now.gpus.push_back(std::move(seen));
  }
  std::ranges::sort(now.gpus, {}, [](const SeenGpu& seen) { return seen.gpu.minor; });
  return now;
}

bool is_display_only(std::string_view product) { return product == "DGX Display" || product == "NVIDIA DGX Display"; }

Inventory with_fault(Inventory before, const std::string& fault) {
  for (SeenGpu& seen : before.gpus) {
    seen.fault = fault;
    seen.has_driver = false;
    seen.lost = false;
  }
  return before;
}

}  // namespace cardcage::nvidia
