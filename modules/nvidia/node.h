// The files of the node's NVIDIA driver: libraries, versions, device numbers.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cardcage::nvidia {

// The places of the node's files. Each may differ from the place on the node itself.
struct Node {
  std::filesystem::path sysfs, procfs, devfs, driver_root;
};

// A file below the driver's root: its path on the host, and its name as programs of the driver see it.
struct DriverFile {
  std::filesystem::path host, inside;
};

// Follows links within the root: one to an absolute path stays below it. Nothing if there is no such file.
std::optional<std::filesystem::path> resolve(const std::filesystem::path& root, const std::filesystem::path& inside);

// libnvidia-ml.so.1 in the first folder that has one for this machine's processor; otherwise the first of any kind, so
// that opening it shows the error.
std::optional<DriverFile> find_nvml(const std::filesystem::path& root);

// The version of the loaded kernel module, "580.65.06"; empty if none is loaded.
std::string kernel_driver_version(const std::filesystem::path& procfs);
// The version in a name: "580.65.06" for libnvidia-ml.so.580.65.06; empty if the name has none.
std::string version_of_library(const std::filesystem::path& file);

// The major numbers of character devices by name, from /proc/devices. Most of NVIDIA's are assigned at load time.
using Majors = std::map<std::string, unsigned, std::less<>>;
Majors read_majors(const std::filesystem::path& procfs);

// A GPU as the kernel module describes it without NVML: /proc/driver/nvidia/gpus/BUS_ID/information.
struct KernelGpu {
  std::string bus_id;  // "0000:3b:00.0"
  std::string uuid;    // empty until the GPU was used for the first time
  std::string model;
  unsigned minor = 0;
};
// The GPUs that the kernel module drives, except those that its parameters exclude.
std::vector<KernelGpu> read_kernel_gpus(const std::filesystem::path& procfs);

// Converts NVML's "00000000:3B:00.0" to "0000:3b:00.0", and "00010000:3B:00.0" to "10000:3b:00.0".
std::string normal_bus_id(std::string_view bus_id);
// Whether the PCI domain has 16 bits, as in the addresses that Kubernetes accepts. A host bridge behind a controller
// (VMD, Hyper-V) has a longer one.
bool has_short_domain(std::string_view bus_id);

}  // namespace cardcage::nvidia
