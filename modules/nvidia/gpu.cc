#include "modules/nvidia/gpu.h"

#include <array>
#include <charconv>

#include "modules/nvidia/fabric.h"
#include "modules/nvidia/node.h"

namespace cardcage::nvidia {
namespace {

using nvml::get;
using nvml::get_tagged;

// Indexed by nvmlBrandType_t.
constexpr std::array kBrands{"Unknown",   "Quadro",      "Tesla",     "NVS",        "Grid",      "GeForce",
                             "Titan",     "NvidiaVApps", "NvidiaVPC", "NvidiaVCS",  "NvidiaVWS", "NvidiaCloudGaming",
                             "QuadroRTX", "NvidiaRTX",   "Nvidia",    "GeForceRTX", "TitanRTX"};
static_assert(kBrands.size() == nvml::kBrandCount);

const char* architecture_name(unsigned architecture) {
  switch (architecture) {
    case nvml::kKepler: return "Kepler";
    case nvml::kMaxwell: return "Maxwell";
    case nvml::kPascal: return "Pascal";
    case nvml::kVolta: return "Volta";
    case nvml::kTuring: return "Turing";
    case nvml::kAmpere: return "Ampere";
    case nvml::kAda: return "Ada Lovelace";
    case nvml::kHopper: return "Hopper";
    case nvml::kBlackwell: return "Blackwell";
    case nvml::kRubin: return "Rubin";
    default: return "Unknown";
  }
}

const char* addressing_mode_name(unsigned mode) {
  switch (mode) {
    case nvml::kAddressingHmm: return "HMM";
    case nvml::kAddressingAts: return "ATS";
    default: return "None";
  }
}

// The text that a function writes into a buffer; empty if the function fails.
template <std::size_t Size>
std::string text(nvml::Return (*function)(nvml::Device, char*, unsigned), nvml::Device device) {
  std::array<char, Size> buffer{};
  if (function == nullptr || function(device, buffer.data(), Size) != nvml::kSuccess) return {};
  return nvml::text_in(buffer);
}

std::optional<std::pair<int, int>> compute_capability(const nvml::Library& nvml, nvml::Device device,
                                                      const std::string& bus_id) {
  int major = 0, minor = 0;
  if (nvml->nvmlDeviceGetCudaComputeCapability == nullptr) return std::nullopt;
  const nvml::Return code = nvml->nvmlDeviceGetCudaComputeCapability(device, &major, &minor);
  if (nvml::means_none(code)) return std::nullopt;
  nvml.must(code, "reading the compute capability of GPU " + bus_id);  // it decides whether partitions are offered
  if (major < 0 || minor < 0) return std::nullopt;
  return std::pair(major, minor);
}

std::optional<std::uint64_t> memory(const nvml::Library& nvml, nvml::Device device, const std::string& bus_id) {
  if (const auto found = get_tagged<nvml::Memory2>(nvml->nvmlDeviceGetMemoryInfo_v2, device)) return found->total;
  const auto found =
      nvml.find<nvml::Memory>("reading the memory of GPU " + bus_id, nvml->nvmlDeviceGetMemoryInfo, device);
  return found ? std::optional<std::uint64_t>(found->total) : std::nullopt;
}

}  // namespace

DriverVersions read_versions(const nvml::Library& nvml) {
  DriverVersions versions;
  std::array<char, nvml::kVersionSize> buffer{};
  if (nvml->nvmlSystemGetDriverVersion != nullptr &&
      nvml->nvmlSystemGetDriverVersion(buffer.data(), nvml::kVersionSize) == nvml::kSuccess)
    versions.driver = nvml::text_in(buffer);
  auto cuda = get<int>(nvml->nvmlSystemGetCudaDriverVersion_v2);
  if (!cuda) cuda = get<int>(nvml->nvmlSystemGetCudaDriverVersion);  // it knows a number even without libcuda
  if (cuda) versions.cuda = std::to_string(*cuda / 1000) + "." + std::to_string(*cuda % 1000 / 10);
  return versions;
}

Gpu read_gpu(const nvml::Library& nvml, nvml::Device device) {
  Gpu gpu;
  nvml::PciInfo pci{};
  nvml.must(nvml->nvmlDeviceGetPciInfo_v3(device, &pci), "reading the PCI address of a GPU");
  gpu.nvml_bus_id = nvml::text_in(pci.busId);
  gpu.bus_id = normal_bus_id(gpu.nvml_bus_id);
  const std::string of = " of GPU " + gpu.bus_id;
  std::array<char, nvml::kUuidSize> uuid{};
  nvml.must(nvml->nvmlDeviceGetUUID(device, uuid.data(), nvml::kUuidSize), "reading the UUID" + of);
  gpu.uuid = nvml::text_in(uuid);
  nvml.must(nvml->nvmlDeviceGetMinorNumber(device, &gpu.minor), "reading the minor number" + of);
  std::array<char, nvml::kNameSize> name{};
  nvml.must(nvml->nvmlDeviceGetName(device, name.data(), nvml::kNameSize), "reading the name" + of);
  gpu.product = nvml::text_in(name);
  gpu.index = get<unsigned>(nvml->nvmlDeviceGetIndex, device);

  const unsigned brand = get<unsigned>(nvml->nvmlDeviceGetBrand, device).value_or(0);
  gpu.brand = kBrands[brand < kBrands.size() ? brand : 0];
  gpu.architecture = architecture_name(get<unsigned>(nvml->nvmlDeviceGetArchitecture, device).value_or(0));
  gpu.compute_capability = compute_capability(nvml, device, gpu.bus_id);
  if (const auto mode = get_tagged<nvml::DeviceAddressingMode>(nvml->nvmlDeviceGetAddressingMode, device))
    gpu.addressing_mode = addressing_mode_name(mode->value);
  gpu.memory = memory(nvml, device, gpu.bus_id);
  gpu.serial = text<nvml::kSerialSize>(nvml->nvmlDeviceGetSerial, device);
  gpu.module_id = get<unsigned>(nvml->nvmlDeviceGetModuleId, device);
  if (const auto fabric = read_fabric(nvml, device)) gpu.clique = fabric->clique;
  gpu.virtualization =
      nvml.find<unsigned>("reading the virtualization mode" + of, nvml->nvmlDeviceGetVirtualizationMode, device)
          .value_or(nvml::kBareMetal);
  const auto mig = read_mig_mode(nvml, device, gpu.bus_id);
  gpu.mig_capable = mig.has_value();
  gpu.mig_enabled = mig && mig->current == nvml::kEnabled;
  return gpu;
}

std::optional<MigModes> read_mig_mode(const nvml::Library& nvml, nvml::Device device, const std::string& bus_id) {
  MigModes modes;
  if (nvml->nvmlDeviceGetMigMode == nullptr) return std::nullopt;
  const nvml::Return code = nvml->nvmlDeviceGetMigMode(device, &modes.current, &modes.pending);
  if (nvml::means_none(code)) return std::nullopt;
  nvml.must(code, "reading the MIG mode of GPU " + bus_id);
  return modes;
}

std::string device_name(const Gpu& gpu) { return "gpu-" + std::to_string(gpu.minor); }

std::string semantic_version(const std::string& version) {
  std::array<unsigned, 3> parts{};
  const char* at = version.data();
  const char* const end = at + version.size();
  for (unsigned& part : parts) {
    at = std::from_chars(at, end, part).ptr;
    if (at == end || *at != '.') break;
    ++at;
  }
  return std::to_string(parts[0]) + "." + std::to_string(parts[1]) + "." + std::to_string(parts[2]);
}

}  // namespace cardcage::nvidia
