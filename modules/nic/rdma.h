// RDMA devices of PCI functions, and RDMA devices that the kernel makes of an interface in software (Soft-RoCE).
//
// Source: Documentation/ABI/stable/sysfs-class-infiniband of the kernel, and drivers/infiniband/core/{uverbs,user_mad}.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace cardcage::nic {

// The folders of RDMA devices in software, by the name of the interface that they use.
using SoftRdma = std::map<std::string, std::vector<std::filesystem::path>>;
SoftRdma soft_rdma(const std::filesystem::path& sysfs);

// Returns the folders of a function's devices, such as ".../infiniband/mlx5_0"; none without an RDMA driver.
std::vector<std::filesystem::path> rdma_devices_of(const std::filesystem::path& function);

// Returns "mlx5_0 port 1 is DOWN" for each port that is not ACTIVE.
std::vector<std::string> inactive_rdma_ports_of(const std::vector<std::filesystem::path>& devices);

// Returns the nodes that a program in a container needs to use the devices: "/dev/infiniband/uverbs0". The kernel
// numbers devices as they appear, so the names are valid until the next boot at most.
std::vector<std::string> rdma_nodes_of(const std::filesystem::path& sysfs,
                                       const std::vector<std::filesystem::path>& devices,
                                       const std::filesystem::path& devfs);

}  // namespace cardcage::nic
