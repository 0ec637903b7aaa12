// The driver of a virtual GPU's host, as the GPU reports it to its guest: in the vendor's capability of its PCI
// configuration space.
//
// Source: NVIDIA/k8s-device-plugin, internal/vgpu: a capability with the signature "VF" and records of an id, a length
// and data; record 0 is the version and the branch of the driver, ten bytes each.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace cardcage::nvidia {

struct VgpuHost {
  std::string version, branch;  // "460.16", "r460_00"
};

// `space` is the configuration space of the function. Nothing unless it is complete and belongs to a virtual GPU.
std::optional<VgpuHost> parse_vgpu_host(std::string_view space);
// Nothing without the privilege to read the whole space.
std::optional<VgpuHost> read_vgpu_host(const std::filesystem::path& sysfs, const std::string& bus_id);

}  // namespace cardcage::nvidia
