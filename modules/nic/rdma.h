// RDMA devices: those of a PCI function, and those that the kernel makes of an interface in software (Soft-RoCE).
//
// Source: Documentation/ABI/stable/sysfs-class-infiniband of the kernel, and drivers/infiniband/core/{uverbs,user_mad}.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace cardcage::nic {

// By the name of the interface, the folders of the devices that use it in software.
using SoftRdma = std::map<std::string, std::vector<std::filesystem::path>>;
SoftRdma soft_rdma(const std::filesystem::path& sysfs);

// The folders of the devices of a function, such as ".../infiniband/mlx5_0"; none without an RDMA driver.
std::vector<std::filesystem::path> rdma_devices_of(const std::filesystem::path& function);

// "mlx5_0 port 1 is DOWN" for each port that is not ACTIVE.
std::vector<std::string> inactive_rdma_ports_of(const std::vector<std::filesystem::path>& devices);

// The nodes that a program needs to use the devices, in the container: "/dev/infiniband/uverbs0". The kernel numbers
// them as they come, so they hold until the next boot at most.
std::vector<std::string> rdma_nodes_of(const std::filesystem::path& sysfs,
                                       const std::vector<std::filesystem::path>& devices,
                                       const std::filesystem::path& devfs);

}  // namespace cardcage::nic
