#include "modules/nvidia/reset.h"

#include <algorithm>

#include "modules/nvidia/gpu_modes.h"
#include "modules/nvidia/links.h"
#include "modules/nvidia/pci_gpu.h"

namespace cardcage::nvidia {
namespace {

// Accepts the sibling of a GPU for virtual machines, too.
const SeenGpu& must_find(Driver& driver, std::string_view device_id) {
  const Inventory& inventory = driver.look();
  const Target target = find_target(inventory, device_id);
  if (target.instance != nullptr || target.profile != nullptr)
    throw cage::Error(CAGE_UNIMPLEMENTED, "a MIG device cannot be reset alone; reset its GPU, '" +
                                              target.gpu->gpu.uuid + "', once all of its MIG devices are free");
  if (target.gpu != nullptr) return *target.gpu;
  const auto sibling =
      std::ranges::find(inventory.gpus, device_id, [](const SeenGpu& seen) { return function_uuid(seen.gpu.bus_id); });
  if (sibling != inventory.gpus.end()) return *sibling;
  const auto function = find_pci_gpu(driver.node(), device_id);
  if (!function)
    throw cage::Error(CAGE_NOT_FOUND, "device '" + std::string(device_id) + "' is not on this node any more");
  throw cage::Error(CAGE_FAILED_PRECONDITION,
                    "GPU " + function->bus_id + " is not bound to NVIDIA's driver, which resets it; bind it first");
}

// Since Ampere, GPUs that NVLink connects can be reset one by one.
bool must_be_reset_with_others(Driver& driver, const SeenGpu& seen) {
  constexpr int kAmpere = 8;
  return seen.responds() && seen.gpu.compute_capability && seen.gpu.compute_capability->first < kAmpere &&
         !active_nvlinks(driver.nvml(), driver.handle(seen.gpu)).empty();
}

}  // namespace

Gpu gpu_to_reset(Driver& driver, std::string_view device_id, const Offer& offer) {
  const SeenGpu& seen = must_find(driver, device_id);
  const std::string subject = "GPU " + seen.gpu.bus_id;
  if (seen.released) throw cage::Error(CAGE_UNAVAILABLE, subject + " is quiesced; resume it: cagectl module resume");
  if (!seen.fault.empty() && !seen.has_driver)
    throw cage::Error(CAGE_UNAVAILABLE, subject + " cannot be reset: " + seen.fault);
  if (offer.mig == MigMode::kStatic && !seen.instances.empty())
    throw cage::Error(CAGE_FAILED_PRECONDITION,
                      subject +
                          " has MIG instances that an administrator has made, and a reset removes them; remove them "
                          "first, or reset it and make them again by hand");
  if (must_be_reset_with_others(driver, seen))
    throw cage::Error(CAGE_UNIMPLEMENTED,
                      subject +
                          " is connected by NVLink to others, and must be reset together with them: nvidia-smi "
                          "--gpu-reset, once all of them are free and the module is quiesced");
  return seen.gpu;
}

void reset_together(const cage::Call& call, Driver& driver, const std::vector<Gpu>& gpus) {
  std::vector<std::string> bus_ids;
  std::vector<Gpu> persistent;
  for (const Gpu& gpu : gpus) {
    bus_ids.push_back(gpu.bus_id);
    const SeenGpu* seen = driver.inventory().at(gpu.bus_id);
    if (seen != nullptr && seen->responds() && is_persistent(driver.nvml(), driver.handle(gpu)))
      persistent.push_back(gpu);
  }
  const auto set_all = [&](bool on) {  // nvidia-persistenced has such a GPU open
    for (const Gpu& gpu : persistent) set_persistent(driver.nvml(), driver.handle(gpu), gpu, on);
  };
  set_all(false);
  driver.close();
  try {
    reset_gpus(call, driver.smi(), bus_ids);
  } catch (...) {
    set_all(true);
    throw;
  }
  set_all(true);
}

}  // namespace cardcage::nvidia
