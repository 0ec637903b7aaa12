#include "modules/nvidia/driver.h"

#include <sys/stat.h>

#include <algorithm>

namespace cardcage::nvidia {

Driver::Identity Driver::identity(const DriverFile& file) const {
  struct stat status{};
  if (::stat(file.host.c_str(), &status) != 0) status = {};
  return {.file = file.host.native(),
          .kernel_version = kernel_driver_version(node_.procfs),
          .inode = static_cast<unsigned long long>(status.st_ino)};
}

const nvml::Library& Driver::nvml() {
  if (library_ && once_.value_or(false)) return *library_;
  file_ = find_nvml(node_.driver_root);
  if (!file_) {
    close();
    throw cage::Error(CAGE_FAILED_PRECONDITION,
                      "no libnvidia-ml.so.1 below '" + node_.driver_root.native() +
                          "'; install the NVIDIA driver, or set node.driver_root to the folder of a driver container");
  }
  Identity now = identity(*file_);
  if (!library_ || now != identity_) {
    if (library_ && !now.kernel_version.empty()) host_.info() << "the driver was replaced: opening NVML again";
    close();
    library_ = std::make_unique<nvml::Library>(file_->host);
    identity_ = std::move(now);
  }
  if (once_) once_ = true;
  return *library_;
}

nvml::Device Driver::handle(const Gpu& gpu) {
  const nvml::Library& library = nvml();
  nvml::Device device = nullptr;
  library.must(library->nvmlDeviceGetHandleByPciBusId_v2(gpu.bus_id.c_str(), &device), "opening GPU " + gpu.bus_id);
  return device;
}

const Inventory& Driver::look() {
  try {
    inventory_ = take_inventory(nvml(), node_, inventory_, released_, divides_);
    note_fault({});
  } catch (const cage::Error& error) {
    close();
    inventory_ = with_fault(std::move(inventory_), error.what());
    note_fault(error.what());
  }
  return inventory_;
}

// Adds LD_PRELOAD where the driver has a root of its own, because no loader finds its libraries there.
SmiRunner Driver::smi() const {
  if (node_.driver_root == "/" || !file_) return {.host = host_, .environment = {}};
  return {.host = host_, .environment = {"LD_PRELOAD=" + file_->host.native()}};
}

void Driver::close() {
  if (!library_) return;
  for (const auto& release : before_close_) release();
  library_.reset();
  ++generation_;
}

void Driver::release(const std::string& bus_id) {
  released_.insert(bus_id);
  close();
  for (SeenGpu& seen : inventory_.gpus) seen.released = released_.contains(seen.gpu.bus_id);
}

bool Driver::lacks_gpus() const {
  return std::ranges::any_of(read_kernel_gpus(node_.procfs), [this](const KernelGpu& found) {
    return !is_display_only(found.model) && inventory_.at(found.bus_id) == nullptr;
  });
}

void Driver::note_fault(const std::string& fault) {
  if (fault == fault_) return;
  if (!fault.empty()) host_.warn() << "the NVIDIA driver does not respond: " << fault;
  if (fault.empty()) host_.info() << "the NVIDIA driver responds again";
  fault_ = fault;
}

}  // namespace cardcage::nvidia
