// NVLink, the place in the PCIe tree, and the fabric.
#include <cstring>

#include "sim/nvml/library/entry.h"
#include "sim/nvml/library/tags.h"

using namespace cardcage::fake_nvml;

namespace {

// Calls f(const Link&).
template <class F>
Return on_link(Call id, nvml::Device device, unsigned link, F f) {
  return on_gpu(id, device, [&](State&, Gpu& gpu) {
    if (link >= kMaxLinks) return nvml::kInvalidArgument;
    if (gpu.link_count == 0) return nvml::kNotSupported;
    if (link >= gpu.link_count) return nvml::kInvalidArgument;
    return gpu.links[link].absent ? nvml::kNotSupported : f(gpu.links[link]);
  });
}

// The newest struct begins, after its version, as the older ones do.
template <class T>
Return give_fabric(const Gpu& gpu, void* to) {
  T* info = static_cast<T*>(to);
  std::memcpy(info->clusterUuid, gpu.fabric.clusterUuid, sizeof info->clusterUuid);
  info->status = gpu.fabric.status;
  info->cliqueId = gpu.fabric.cliqueId;
  info->state = gpu.fabric.state;
  return nvml::kSuccess;
}

}  // namespace

Return nvmlDeviceGetNvLinkState(nvml::Device device, unsigned link, unsigned* state) {
  return on_link(Call::nvmlDeviceGetNvLinkState, device, link,
                 [&](const Link& found) { return give(state, found.active ? nvml::kEnabled : nvml::kDisabled); });
}

Return nvmlDeviceGetNvLinkRemotePciInfo_v2(nvml::Device device, unsigned link, nvml::PciInfo* pci) {
  return on_link(Call::nvmlDeviceGetNvLinkRemotePciInfo_v2, device, link, [&](const Link& found) {
    if (pci == nullptr) return nvml::kInvalidArgument;
    if (!found.active) return nvml::kNotSupported;
    Gpu remote{};
    remote.domain = found.domain;
    remote.bus = found.bus;
    remote.device = found.device;
    *pci = {};
    copy_text(pci->busIdLegacy, sizeof pci->busIdLegacy, bus_id(remote, 4, true));
    copy_text(pci->busId, sizeof pci->busId, bus_id(remote, 8, true));
    pci->domain = found.domain;
    pci->bus = found.bus;
    pci->device = found.device;
    return nvml::kSuccess;
  });
}

Return nvmlDeviceGetNvLinkRemoteDeviceType(nvml::Device device, unsigned link, unsigned* type) {
  return on_link(Call::nvmlDeviceGetNvLinkRemoteDeviceType, device, link,
                 [&](const Link& found) { return found.active ? give(type, found.remote) : nvml::kNotSupported; });
}

Return nvmlDeviceGetTopologyCommonAncestor(nvml::Device one, nvml::Device other, unsigned* level) {
  return on_gpu(Call::nvmlDeviceGetTopologyCommonAncestor, one, [&](State& state, Gpu& gpu) {
    const Handle handle = decode(state, other);
    if (handle.kind != HandleKind::kDevice) return nvml::kInvalidArgument;
    const Gpu& peer = state.gpus[handle.gpu];
    if (const Return code = check_gpu(peer); code != nvml::kSuccess) return code;
    if (&peer == &gpu) return give(level, nvml::kSameBoard);
    if (peer.domain == gpu.domain && peer.root_bus == gpu.root_bus) return give(level, nvml::kHostBridge);
    return give(level, peer.numa_node == gpu.numa_node ? nvml::kNumaNode : nvml::kSystem);
  });
}

Return nvmlDeviceGetGpuFabricInfoV(nvml::Device device, void* info) {
  return on_gpu(Call::nvmlDeviceGetGpuFabricInfoV, device, [&](State&, Gpu& gpu) {
    if (info == nullptr) return nvml::kInvalidArgument;
    if (gpu.architecture < nvml::kHopper) return nvml::kNotSupported;
    if (has_tag<nvml::GpuFabricInfo3>(info)) {
      static_cast<nvml::GpuFabricInfo3*>(info)->healthMask = gpu.fabric.healthMask;
      static_cast<nvml::GpuFabricInfo3*>(info)->healthSummary = gpu.fabric.healthSummary;
      return give_fabric<nvml::GpuFabricInfo3>(gpu, info);
    }
    if (!has_tag<nvml::GpuFabricInfo2>(info)) return nvml::kArgumentVersionMismatch;
    static_cast<nvml::GpuFabricInfo2*>(info)->healthMask = gpu.fabric.healthMask;
    return give_fabric<nvml::GpuFabricInfo2>(gpu, info);
  });
}

Return nvmlDeviceGetGpuFabricInfo(nvml::Device device, nvml::GpuFabricInfo* info) {
  return on_gpu(Call::nvmlDeviceGetGpuFabricInfo, device, [&](State&, Gpu& gpu) {
    if (info == nullptr) return nvml::kInvalidArgument;
    return gpu.architecture < nvml::kHopper ? nvml::kNotSupported : give_fabric<nvml::GpuFabricInfo>(gpu, info);
  });
}
