#include <fmt/format.h>

#include <fstream>

#include "sim/nvml/fake_gpus.h"
#include "sim/nvml/tree.h"
#include "sim/nvml/world.h"

namespace cardcage::fake_nvml {
namespace {

namespace fs = std::filesystem;

constexpr unsigned kCapabilityGpus = 32;  // GPUs in the static table of minors
constexpr unsigned kFirstRender = 128, kDrmMajor = 226;

fs::path device_folder(const fs::path& root, const Gpu& gpu) {
  return root / fmt::format("sys/devices/pci{0:04x}:{1:02x}/{0:04x}:{1:02x}:{2:02x}.0/{3}", gpu.domain, gpu.root_bus,
                            gpu.bus - gpu.root_bus - 1, bus_id(gpu));
}

fs::path bus_link(const fs::path& root, const Gpu& gpu) { return root / "sys/bus/pci/devices" / bus_id(gpu); }

// Makes a relative link, as in sysfs.
void link(const fs::path& from, const fs::path& to) {
  fs::create_directories(from.parent_path());
  fs::remove(from);
  fs::create_symlink(fs::relative(to, from.parent_path()), from);
}

std::string hex(unsigned value, int digits) { return fmt::format("0x{:0{}x}\n", value, digits); }

// The text of /sys/bus/pci/devices/*/resource: start, end, flags.
std::string resources(const Gpu& gpu, const std::vector<std::uint64_t>& bars_mib) {
  constexpr unsigned long long kMemory = 0x200, kPrefetch64 = 0x14220c;
  constexpr std::size_t kLines = 13;
  unsigned long long next = 0x200000000000ULL + (static_cast<unsigned long long>(gpu.minor) << 42);
  std::string text;
  for (std::size_t i = 0; i < kLines; ++i) {
    // BARs of 64 bits take two lines; the first has 32.
    const bool bar = i < 5 && (i == 0 || i % 2 == 1) && (i + 1) / 2 < bars_mib.size();
    if (!bar) {
      text += fmt::format("{0:#018x} {0:#018x} {0:#018x}\n", 0);
      continue;
    }
    const unsigned long long size = bars_mib[(i + 1) / 2] << 20;
    text += fmt::format("{:#018x} {:#018x} {:#018x}\n", next, next + size - 1, i == 0 ? kMemory : kPrefetch64);
    next += size;
  }
  return text;
}

void write_drm(const fs::path& root, const Gpu& gpu) {
  const unsigned card_minor = gpu.minor + 1, render_minor = kFirstRender + gpu.minor;
  const std::string card = fmt::format("card{}", card_minor), render = fmt::format("renderD{}", render_minor);
  for (const auto& [name, minor] : {std::pair(card, card_minor), std::pair(render, render_minor)}) {
    write_file(device_folder(root, gpu) / "drm" / name / "dev", fmt::format("{}:{}\n", kDrmMajor, minor));
    write_file(root / "dev/dri" / name, "");
  }
  link(root / "dev/dri/by-path" / ("pci-" + bus_id(gpu) + "-card"), root / "dev/dri" / card);
  link(root / "dev/dri/by-path" / ("pci-" + bus_id(gpu) + "-render"), root / "dev/dri" / render);
}

std::string information(const Gpu& gpu, const char* version) {
  return fmt::format(
      "Model: \t\t {}\nIRQ:   \t\t {}\nGPU UUID: \t {}\nVideo BIOS: \t 96.00.89.00.01\nBus Type: \t PCIe\n"
      "DMA Size: \t 52 bits\nDMA Mask: \t 0xfffffffffffff\nBus Location: \t {}\nDevice Minor: \t {}\n"
      "GPU Firmware: \t {}\nGPU Excluded:\t No\n",
      gpu.name, 32 + gpu.minor, gpu.uuid, bus_id(gpu), gpu.minor, version);
}

// The text is the same for every machine with the driver: it does not depend on the GPUs.
std::string mig_minors() {
  std::string text = "config 1\nmonitor 2\n";
  for (unsigned gpu = 0; gpu < kCapabilityGpus; ++gpu) {
    for (unsigned gi = 0; gi < kMaxInstances; ++gi) {
      text += fmt::format("gpu{}/gi{}/access {}\n", gpu, gi, capability_minor(gpu, gi));
      for (unsigned ci = 0; ci < kMaxComputes; ++ci)
        text += fmt::format("gpu{}/gi{}/ci{}/access {}\n", gpu, gi, ci, capability_minor(gpu, gi, ci));
    }
  }
  return text;
}

std::string capability(unsigned minor) {
  return fmt::format("DeviceFileMinor: {}\nDeviceFileMode: 256\nDeviceFileModify: 1\n", minor);
}

void write_proc(const fs::path& root, const State& state) {
  const fs::path proc = root / "proc", driver = proc / "driver/nvidia";
  write_file(proc / "devices", fmt::format("Character devices:\n  1 mem\n  5 /dev/tty\n{0} nvidia\n{0} nvidia-modeset\n"
                                           "{0} nvidiactl\n{1} nvidia-caps\n236 nvidia-caps-imex-channels\n"
                                           "{2} nvidia-uvm\n\nBlock devices:\n  7 loop\n",
                                           FakeGpus::kMajor, FakeGpus::kCapsMajor, FakeGpus::kUvmMajor));
  write_file(driver / "version",
             fmt::format("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  {}  Release Build"
                         "  (dvs-builder@U22-I3-H04-01-1)  Sun Jul 27 06:53:50 UTC 2025\n"
                         "GCC version:  gcc version 12.2.0 (Debian 12.2.0-14+deb12u1)\n",
                         state.kernel_version));
  write_file(driver / "params",
             "ResmanDebugLevel: 4294967295\nModifyDeviceFiles: 1\nDeviceFileUID: 0\nDeviceFileGID: 0\n"
             "DeviceFileMode: 438\nRegistryDwords: \"\"\nExcludedGpus: \"\"\nCoherentGPUMemoryMode: \"\"\n");
  write_file(driver / "capabilities/mig/config", capability(1));
  write_file(driver / "capabilities/mig/monitor", capability(2));
  write_file(driver / "capabilities/fabric-imex-mgmt", capability(0));
  write_file(proc / "driver/nvidia-caps/mig-minors", mig_minors());
  write_file(proc / "driver/nvidia-caps/sys-minors", "fabric-imex-mgmt 0\n");
  write_file(proc / "driver/nvidia-caps/nvlink-minors", "");
}

void write_nodes(const fs::path& root) {
  for (const char* name : {"nvidiactl", "nvidia-uvm", "nvidia-uvm-tools", "nvidia-modeset", "nvidia-caps/nvidia-cap1",
                           "nvidia-caps/nvidia-cap2"})
    write_file(root / "dev" / name, "");
}

void show_to_module(const fs::path& root, const State& state, const Gpu& gpu) {
  const fs::path folder = root / "proc/driver/nvidia/gpus" / bus_id(gpu);
  write_file(folder / "information", information(gpu, state.kernel_version));
  write_file(folder / "unbindLock", "0\n");
  write_file(folder / "power", "Runtime D3 status:          Disabled by default\n");
  write_file(root / "dev" / ("nvidia" + std::to_string(gpu.minor)), "");
  const fs::path driver = root / "sys/bus/pci/drivers/nvidia";
  link(device_folder(root, gpu) / "driver", driver);
  link(driver / bus_id(gpu), device_folder(root, gpu));
}

void hide_from_module(const fs::path& root, const Gpu& gpu) {
  fs::remove(root / "sys/bus/pci/drivers/nvidia" / bus_id(gpu));
  fs::remove_all(root / "proc/driver/nvidia/gpus" / bus_id(gpu));
  fs::remove(root / "dev" / ("nvidia" + std::to_string(gpu.minor)));
}

}  // namespace

void write_gpu(const fs::path& root, const Gpu& gpu, const Product& product) {
  const fs::path folder = device_folder(root, gpu);
  constexpr unsigned kLow = 0xffff;
  write_file(folder / "vendor", hex(gpu.pci_id & kLow, 4));
  write_file(folder / "device", hex(gpu.pci_id >> 16, 4));
  write_file(folder / "subsystem_vendor", hex(gpu.pci_subsystem & kLow, 4));
  write_file(folder / "subsystem_device", hex(gpu.pci_subsystem >> 16, 4));
  write_file(folder / "class", hex(product.pci_class, 6));
  write_file(folder / "numa_node", fmt::format("{}\n", gpu.numa_node));
  write_file(folder / "resource", resources(gpu, product.bars_mib));
  write_file(folder / "driver_override", "(null)\n");
  write_file(folder / "reset", "");
  write_file(folder / "current_link_width", fmt::format("{}\n", gpu.pcie_width));
  write_file(folder / "max_link_width", fmt::format("{}\n", gpu.pcie_max_width));
  const fs::path group = root / "sys/kernel/iommu_groups" / std::to_string(gpu.minor + 40);
  fs::create_directories(group / "devices");
  link(folder / "iommu_group", group);
  link(group / "devices" / bus_id(gpu), folder);
  link(bus_link(root, gpu), folder);
  fill_config_space(root, gpu);
  if (product.drm) write_drm(root, gpu);
  for (const char* name : {"bind", "unbind"}) write_file(root / "sys/bus/pci/drivers/vfio-pci" / name, "");
  write_file(root / "sys/bus/pci/drivers_probe", "");
}

void fill_config_space(const fs::path& root, const Gpu& gpu) {
  constexpr std::size_t kSize = 256;
  std::string bytes(kSize, gpu.lost ? '\xff' : '\0');
  // Vendor and device, with the low byte first.
  if (!gpu.lost) {
    for (unsigned i = 0; i < sizeof gpu.pci_id; ++i) bytes[i] = static_cast<char>(gpu.pci_id >> 8 * i);
  }
  write_file(device_folder(root, gpu) / "config", bytes);
}

void hide_gpu(const fs::path& root, const Gpu& gpu) {
  fs::remove(bus_link(root, gpu));
  const fs::path folder = device_folder(root, gpu), kept = root / "removed" / bus_id(gpu);
  fs::create_directories(kept.parent_path());
  if (fs::exists(folder)) fs::rename(folder, kept);
  hide_from_module(root, gpu);
}

void show_gpu(const fs::path& root, const Gpu& gpu) {
  const fs::path folder = device_folder(root, gpu), kept = root / "removed" / bus_id(gpu);
  if (fs::exists(kept)) fs::rename(kept, folder);
  link(bus_link(root, gpu), folder);
}

void bind_gpu(const fs::path& root, const State& state, const Gpu& gpu, const std::string& driver) {
  const fs::path folder = device_folder(root, gpu);
  hide_from_module(root, gpu);
  fs::remove(folder / "driver");
  fs::remove_all(folder / "vfio-dev");
  if (driver == "nvidia") return show_to_module(root, state, gpu);
  if (driver.empty()) return;
  fs::create_directories(root / "sys/bus/pci/drivers" / driver);
  link(folder / "driver", root / "sys/bus/pci/drivers" / driver);
  fs::create_directories(folder / "vfio-dev" / fmt::format("vfio{}", gpu.minor));
}

void load_module(const fs::path& root, const State& state) {
  write_proc(root, state);
  write_nodes(root);
  write_file(root / "sys/module/nvidia/version", fmt::format("{}\n", state.kernel_version));
  write_file(root / "sys/module/nvidia/refcnt", "0\n");
  for (const char* name : {"bind", "unbind"}) write_file(root / "sys/bus/pci/drivers/nvidia" / name, "");
  for (unsigned i = 0; i < state.gpu_count; ++i) {
    if (state.gpus[i].present) show_to_module(root, state, state.gpus[i]);
  }
}

void unload_module(const fs::path& root, const State& state) {
  fs::remove_all(root / "proc/driver");
  fs::remove_all(root / "sys/module/nvidia");
  fs::remove_all(root / "sys/bus/pci/drivers/nvidia");
  write_file(root / "proc/devices", "Character devices:\n  1 mem\n  5 /dev/tty\n\nBlock devices:\n  7 loop\n");
  for (unsigned i = 0; i < state.gpu_count; ++i) fs::remove(device_folder(root, state.gpus[i]) / "driver");
}

}  // namespace cardcage::fake_nvml
