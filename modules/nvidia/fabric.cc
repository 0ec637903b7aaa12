#include "modules/nvidia/fabric.h"

#include <array>
#include <cstdio>

namespace cardcage::nvidia {
namespace {

// One statement of the health mask: two or four bits. `bad` is the least value that means trouble.
struct HealthBits {
  unsigned shift, width, bad, worst;
  const char* text;
};
constexpr HealthBits kHealthBits[] = {
    {.shift = 0, .width = 2, .bad = 1, .worst = 1, .text = "the bandwidth is degraded"},
    {.shift = 2, .width = 2, .bad = 1, .worst = 1, .text = "a route is being recovered"},
    {.shift = 4, .width = 2, .bad = 1, .worst = 1, .text = "a route is unhealthy"},
    {.shift = 6, .width = 2, .bad = 1, .worst = 1, .text = "a timeout is being recovered from"},
    {.shift = 8, .width = 4, .bad = 2, .worst = 15, .text = "the configuration is incorrect"},
};

std::string problem_in(unsigned mask) {
  std::string text;
  for (const HealthBits& one : kHealthBits) {
    const unsigned value = mask >> one.shift & ((1u << one.width) - 1);
    if (value >= one.bad && value <= one.worst) text += (text.empty() ? "" : ", ") + std::string(one.text);
  }
  return text;
}

template <class Info>
std::string cluster_of(const Info& info) {
  bool has_cluster = false;
  std::string name;
  for (std::size_t i = 0; i < sizeof info.clusterUuid; ++i) {
    std::array<char, 3> digits{};
    std::snprintf(digits.data(), digits.size(), "%02x", info.clusterUuid[i]);
    if (i == 4 || i == 6 || i == 8 || i == 10) name += '-';
    name += digits.data();
    has_cluster = has_cluster || info.clusterUuid[i] != 0;
  }
  return has_cluster ? name : std::string();
}

template <class Info>
std::optional<Fabric> fabric_of(const nvml::Library& nvml, const Info& info) {
  if (info.state == nvml::kFabricNotSupported) return std::nullopt;
  Fabric fabric;
  if (info.state != nvml::kFabricCompleted) {
    fabric.problem = "the GPU has not joined its NVLink fabric";
  } else if (info.status != nvml::kSuccess) {
    fabric.problem = "joining the NVLink fabric failed: " + nvml.error_text(info.status);
  } else {
    if (const std::string cluster = cluster_of(info); !cluster.empty())
      fabric.clique = cluster + "." + std::to_string(info.cliqueId);
    if constexpr (requires { info.healthMask; }) fabric.problem = problem_in(info.healthMask);
  }
  return fabric;
}

}  // namespace

std::optional<Fabric> read_fabric(const nvml::Library& nvml, nvml::Device device) {
  // The function takes any revision; a driver refuses the tags that it does not know.
  const auto fill = [&]<class Info>(Info& info) {
    info.version = nvml::tag<Info>();
    return nvml->nvmlDeviceGetGpuFabricInfoV != nullptr &&
           nvml->nvmlDeviceGetGpuFabricInfoV(device, &info) == nvml::kSuccess;
  };
  if (nvml::GpuFabricInfo3 info{}; fill(info)) return fabric_of(nvml, info);
  if (nvml::GpuFabricInfo2 info{}; fill(info)) return fabric_of(nvml, info);
  const auto info = nvml::get<nvml::GpuFabricInfo>(nvml->nvmlDeviceGetGpuFabricInfo, device);
  return info ? fabric_of(nvml, *info) : std::nullopt;
}

}  // namespace cardcage::nvidia
