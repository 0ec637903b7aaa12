// The files of the node's NVIDIA driver: libraries, versions, device numbers.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cardcage::nvidia {

// Where the module finds the node's files. Each may lie elsewhere than on the node itself.
struct Node {
  std::filesystem::path sysfs, procfs, devfs, driver_root;
};

// A file below the driver's root: where it is, and its name as programs of the driver see it.
struct DriverFile {
  std::filesystem::path host, inside;
};

// Follows links within the root: one to an absolute path stays below it. Nothing if there is no such file.
std::optional<std::filesystem::path> resolve(const std::filesystem::path& root, const std::filesystem::path& inside);

// libnvidia-ml.so.1 in the first folder that has one for this machine's processor; otherwise the first that there is,
// so that opening it says what is wrong.
std::optional<DriverFile> find_nvml(const std::filesystem::path& root);

// "580.65.06" of the loaded kernel module; empty if none is loaded.
std::string kernel_driver_version(const std::filesystem::path& procfs);
// "580.65.06" of libnvidia-ml.so.580.65.06; empty if the name has none.
std::string version_of_library(const std::filesystem::path& file);

// The major numbers of character devices by name, from /proc/devices. Most of NVIDIA's are given at load time.
using Majors = std::map<std::string, unsigned, std::less<>>;
Majors read_majors(const std::filesystem::path& procfs);

// What the kernel module says of a GPU without NVML: /proc/driver/nvidia/gpus/BUS_ID/information.
struct KernelGpu {
  std::string bus_id;  // "0000:3b:00.0"
  std::string uuid;    // empty until the GPU was used for the first time
  std::string model;
  unsigned minor = 0;
};
// The GPUs that the kernel module drives, but for those that its parameters exclude.
std::vector<KernelGpu> read_kernel_gpus(const std::filesystem::path& procfs);

// "00000000:3B:00.0", as NVML writes it, to "0000:3b:00.0"; "00010000:3B:00.0" to "10000:3b:00.0".
std::string normal_bus_id(std::string_view bus_id);
// Whether the PCI domain has 16 bits, as in the addresses that Kubernetes takes. That of a host bridge behind a
// controller (VMD, Hyper-V) has more.
bool has_short_domain(std::string_view bus_id);

}  // namespace cardcage::nvidia
