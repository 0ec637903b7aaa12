#include "modules/nvidia/imex/cliques.h"

#include <set>

#include "modules/nvidia/fabric.h"
#include "modules/nvidia/nvml/library.h"

namespace cardcage::nvidia {
namespace {

NodeClique clique_of(const std::set<std::string>& cliques, bool settled) {
  NodeClique found{.name = {}, .problem = {}, .settled = settled};
  if (cliques.size() == 1) {
    found.name = *cliques.begin();
  } else if (cliques.empty()) {
    found.problem = settled ? "the GPUs belong to no NVLink fabric of several nodes"
                            : "the GPUs have not joined their NVLink fabric yet";
  } else {
    found.problem = "the GPUs belong to different NVLink cliques:";
    for (const std::string& clique : cliques) found.problem += " " + clique;
  }
  return found;
}

}  // namespace

NodeClique read_clique(const Node& node) {
  // Without its kernel module, NVML would load it.
  if (kernel_driver_version(node.procfs).empty())
    return {.name = {}, .problem = "NVIDIA's kernel module is not loaded"};
  const auto file = find_nvml(node.driver_root);
  if (!file)
    return {.name = {},
            .problem = "no libnvidia-ml.so.1 below '" + node.driver_root.native() + "'; set node.driver_root",
            .settled = false};
  std::set<std::string> cliques;
  bool settled = true;
  try {
    const nvml::Library nvml(file->host);
    for (const KernelGpu& gpu : read_kernel_gpus(node.procfs)) {
      nvml::Device device = nullptr;
      if (nvml->nvmlDeviceGetHandleByPciBusId_v2(gpu.bus_id.c_str(), &device) != nvml::kSuccess) {
        settled = false;
        continue;
      }
      const auto fabric = read_fabric(nvml, device);
      if (!fabric) continue;
      if (fabric->clique.empty())
        settled = settled && fabric->problem.empty();
      else
        cliques.insert(fabric->clique);
    }
  } catch (const cage::Error& error) {
    return {.name = {}, .problem = error.what(), .settled = false};
  }
  return clique_of(cliques, settled);
}

}  // namespace cardcage::nvidia
