#include "modules/nic/rdma.h"

#include "modules/common/kernel_files.h"

namespace cardcage::nic {

namespace fs = std::filesystem;

std::vector<std::string> rdma_devices_of(const fs::path& function) {
  return hardware::names_in(function / kRdmaFolder);
}

// A state is a number and a word: "4: ACTIVE".
std::vector<std::string> inactive_rdma_ports_of(const fs::path& function) {
  std::vector<std::string> inactive;
  for (const std::string& device : rdma_devices_of(function)) {
    const fs::path ports = function / kRdmaFolder / device / "ports";
    for (const std::string& port : hardware::names_in(ports)) {
      const std::string state = hardware::text_in(ports / port / "state");
      if (state.empty() || state.starts_with("4:")) continue;
      const auto word = state.find(": ");
      inactive.push_back(device + " port " + port + " is " +
                         (word == std::string::npos ? state : state.substr(word + 2)));
    }
  }
  return inactive;
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
