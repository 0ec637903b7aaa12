#include "modules/nic/rdma.h"

#include "modules/common/kernel_files.h"

namespace cardcage::nic {

namespace fs = std::filesystem;

std::vector<std::string> rdma_devices_of(const fs::path& function) {
  return hardware::names_in(function / "infiniband");
}

std::vector<std::string> rdma_nodes_of(const fs::path& function, const fs::path& devfs) {
  std::vector<std::string> nodes;
  for (const char* folder : {"infiniband_verbs", "infiniband_mad"})
    for (const std::string& name : hardware::names_in(function / folder)) nodes.push_back("/dev/infiniband/" + name);
  // One node for all devices, which sets connections up. It is there if its driver is loaded.
  std::error_code error;
  if (!nodes.empty() && fs::exists(devfs / "infiniband/rdma_cm", error)) nodes.push_back("/dev/infiniband/rdma_cm");
  return nodes;
}

}  // namespace cardcage::nic
