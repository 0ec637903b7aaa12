#include "modules/nic/rdma.h"

#include "modules/common/kernel_files.h"

namespace cardcage::nic {

namespace fs = std::filesystem;
using hardware::names_in;
using hardware::text_in;

SoftRdma soft_rdma(const fs::path& sysfs) {
  SoftRdma devices;
  const fs::path folder = sysfs / "class/infiniband";
  for (const std::string& name : names_in(folder))
    if (const std::string interface = text_in(folder / name / "parent"); !interface.empty())
      devices[interface].push_back(folder / name);
  return devices;
}

std::vector<fs::path> rdma_devices_of(const fs::path& function) {
  std::vector<fs::path> devices;
  for (const std::string& name : names_in(function / "infiniband")) devices.push_back(function / "infiniband" / name);
  return devices;
}

// The state of a port is a number and a word: "4: ACTIVE".
std::vector<std::string> inactive_rdma_ports_of(const std::vector<fs::path>& devices) {
  std::vector<std::string> inactive;
  for (const fs::path& device : devices)
    for (const std::string& port : names_in(device / "ports")) {
      const std::string state = text_in(device / "ports" / port / "state");
      if (state.empty() || state.starts_with("4:")) continue;
      const auto word = state.find(": ");
      inactive.push_back(device.filename().native() + " port " + port + " is " +
                         (word == std::string::npos ? state : state.substr(word + 2)));
    }
  return inactive;
}

std::vector<std::string> rdma_nodes_of(const fs::path& sysfs, const std::vector<fs::path>& devices,
                                       const fs::path& devfs) {
  std::vector<std::string> nodes;
  for (const char* name : {"infiniband_verbs", "infiniband_mad"}) {
    const fs::path folder = sysfs / "class" / name;
    for (const std::string& node : names_in(folder)) {
      const std::string device = text_in(folder / node / "ibdev");
      for (const fs::path& wanted : devices)
        if (wanted.filename() == device) nodes.push_back("/dev/infiniband/" + node);
    }
  }
  // One node for all devices sets up connections. It exists if its driver is loaded.
  std::error_code error;
  if (!nodes.empty() && fs::exists(devfs / "infiniband/rdma_cm", error)) nodes.push_back("/dev/infiniband/rdma_cm");
  return nodes;
}

}  // namespace cardcage::nic
