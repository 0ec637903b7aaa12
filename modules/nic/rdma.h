// RDMA devices of a PCI function.
//
// Source: Documentation/ABI/stable/sysfs-class-infiniband of the kernel, and drivers/infiniband/core/{uverbs,user_mad}.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace cardcage::nic {

// In the folder of a function that has RDMA devices.
inline constexpr const char* kRdmaFolder = "infiniband";

// "mlx5_0"; none without an RDMA driver.
std::vector<std::string> rdma_devices_of(const std::filesystem::path& function);

// "mlx5_0 port 1 is DOWN" for each port that is not ACTIVE.
std::vector<std::string> inactive_rdma_ports_of(const std::filesystem::path& function);

// The nodes that a program needs to use them, in the container: "/dev/infiniband/uverbs0". The kernel numbers them as
// they come, so they hold until the next boot at most.
std::vector<std::string> rdma_nodes_of(const std::filesystem::path& function, const std::filesystem::path& devfs);

}  // namespace cardcage::nic
