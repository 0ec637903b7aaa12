#include "modules/nvidia/devices.h"

#include <algorithm>
#include <limits>

#include "modules/nvidia/health/declared_causes.h"
#include "modules/nvidia/mebibyte.h"

namespace cardcage::nvidia {
namespace {

constexpr std::uint64_t kMostMib = std::numeric_limits<std::int64_t>::max() / kMib;
// A device has room for 32 attributes and capacities; the host adds three for its PCI address.
constexpr std::size_t kRoom = 29;

// A GPU whose MIG mode changes only with a reset, or with a restart of its virtual machine, offers either itself or its
// partitions.
bool changes_mig_mode_at_once(const Gpu& gpu) {
  return gpu.compute_capability && gpu.compute_capability->first >= 9 && !has_fixed_mig_mode(gpu);
}
bool offers_whole(const Gpu& gpu) { return !gpu.mig_enabled || changes_mig_mode_at_once(gpu); }
bool offers_partitions(const Gpu& gpu) { return gpu.mig_enabled || changes_mig_mode_at_once(gpu); }

// Whether partitions are made for claims.
bool is_partitionable(const SeenGpu& seen, const Offer& offer) {
  return offer.mig == MigMode::kDynamic && !seen.profiles.empty() && !has_instances_of_host(seen.gpu);
}
// A GPU with instances that an administrator made is not given away.
bool offers_function(const SeenGpu& seen, const Offer& offer) {
  return offer.passthrough && (is_partitionable(seen, offer) || !seen.gpu.mig_enabled);
}

// Adds the attributes that a GPU and its partitions have in common. Returns their number.
std::size_t add_common_attributes(cage::Device& device, const Gpu& gpu, const DriverVersions& versions) {
  std::size_t count = 0;
  const auto add = [&](const char* name, const auto& value) {
    device.attribute(name, value);
    ++count;
  };
  add("productName", gpu.product);
  if (!gpu.brand.empty()) add("brand", gpu.brand);
  if (!gpu.architecture.empty()) add("architecture", gpu.architecture);
  if (gpu.compute_capability)
    add("cudaComputeCapability", cage::Version{std::to_string(gpu.compute_capability->first) + "." +
                                               std::to_string(gpu.compute_capability->second) + ".0"});
  if (!versions.driver.empty()) add("driverVersion", cage::Version{semantic_version(versions.driver)});
  if (!versions.cuda.empty()) add("cudaDriverVersion", cage::Version{semantic_version(versions.cuda)});
  if (gpu.addressing_mode) add("addressingMode", *gpu.addressing_mode);
  return count;
}

cage::Quantities engines(const MigProfile& profile) {
  return {{"multiprocessors", cage::Quantity::count(profile.multiprocessors)},
          {"copyEngines", cage::Quantity::count(profile.copy_engines)},
          {"decoders", cage::Quantity::count(profile.decoders)},
          {"encoders", cage::Quantity::count(profile.encoders)},
          {"jpegEngines", cage::Quantity::count(profile.jpeg_engines)},
          {"ofaEngines", cage::Quantity::count(profile.ofa_engines)},
          {"memory", cage::Quantity::bytes(static_cast<std::int64_t>(std::min(profile.memory_mib, kMostMib) * kMib))}};
}

// The maximum of each resource over all profiles: a profile that takes the whole GPU leaves nothing for another.
MigProfile most_of(const std::vector<MigProfile>& profiles) {
  MigProfile most;
  for (const MigProfile& one : profiles) {
    most.multiprocessors = std::max(most.multiprocessors, one.multiprocessors);
    most.copy_engines = std::max(most.copy_engines, one.copy_engines);
    most.decoders = std::max(most.decoders, one.decoders);
    most.encoders = std::max(most.encoders, one.encoders);
    most.jpeg_engines = std::max(most.jpeg_engines, one.jpeg_engines);
    most.ofa_engines = std::max(most.ofa_engines, one.ofa_engines);
    most.memory_mib = std::max(most.memory_mib, one.memory_mib);
  }
  return most;
}

unsigned memory_slices(const std::vector<MigProfile>& profiles) {
  unsigned slices = 0;
  for (const MigProfile& profile : profiles)
    for (const nvml::Placement& placement : profile.placements)
      slices = std::max(slices, placement.start + placement.size);
  return slices;
}

// "jpegEngines" to "jpeg-engines".
std::string counter_name(std::string_view capacity) {
  std::string name;
  for (const char c : capacity) {
    if (c >= 'A' && c <= 'Z') name += '-';
    name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return name;
}

// The amounts that a partition consumes from the counters of its GPU.
cage::Quantities counters(const MigProfile& profile, nvml::Placement placement) {
  cage::Quantities list = engines(profile);
  for (auto& [name, quantity] : list) name = counter_name(name);
  for (unsigned slice = placement.start; slice < placement.start + placement.size; ++slice)
    list.emplace_back("memory-slice-" + std::to_string(slice), cage::Quantity::count(1));
  return list;
}

// The host refuses a device whose address Kubernetes does not accept.
void set_address(cage::Device& device, const std::string& bus_id) {
  if (has_short_domain(bus_id)) device.pci(bus_id);
}

cage::Device gpu_device(const SeenGpu& seen, const DriverVersions& versions) {
  const Gpu& gpu = seen.gpu;
  cage::Device device(gpu.uuid, "gpu");
  device.name(device_name(gpu)).health(access_of(seen));
  set_address(device, gpu.bus_id);
  device.attribute("type", "gpu").attribute("uuid", gpu.uuid);
  add_common_attributes(device, gpu, versions);
  if (!gpu.serial.empty()) device.attribute("nvidia.cardcage.dev/serial", gpu.serial);
  if (gpu.module_id) device.attribute("nvidia.cardcage.dev/moduleID", *gpu.module_id);
  if (!gpu.clique.empty()) device.attribute("nvidia.cardcage.dev/clique", gpu.clique);
  return device;
}

// `slices`: each memory slice gets a capacity of its own.
cage::Device mig_device(const SeenGpu& seen, const DriverVersions& versions, const std::string& id,
                        const std::string& uuid, const MigProfile& profile, nvml::Placement placement, bool slices) {
  const Gpu& gpu = seen.gpu;
  cage::Device device(id, "mig");
  device.name(mig_device_name(gpu, profile, placement.start)).parent(gpu.uuid);
  set_address(device, gpu.bus_id);
  device.health(access_of(seen));
  device.attribute("type", "mig").attribute("parentUUID", gpu.uuid).attribute("profile", profile.name);
  std::size_t room = kRoom - 3;
  if (!uuid.empty()) {
    device.attribute("uuid", uuid);
    --room;
  }
  room -= add_common_attributes(device, gpu, versions);
  for (auto& [name, quantity] : engines(profile)) {
    device.capacity(name, quantity);
    --room;
  }
  // The largest profile of a GPU with twelve slices has no room for all of them, and is unique without them.
  if (slices && placement.size <= room)
    for (unsigned slice = placement.start; slice < placement.start + placement.size; ++slice)
      device.capacity("memorySlice" + std::to_string(slice), cage::Quantity::count(1));
  return device;
}

bool is_shared(const SeenGpu& seen, const Offer& offer) {
  return offer.memory_shares && seen.gpu.memory.value_or(0) >= kMib;
}

cage::Device undivided_gpu_device(const SeenGpu& seen, const DriverVersions& versions, const Offer& offer) {
  cage::Device device = gpu_device(seen, versions);
  if (seen.gpu.memory) device.capacity("memory", cage::Quantity::bytes(static_cast<std::int64_t>(*seen.gpu.memory)));
  if (is_shared(seen, offer)) device.shared();
  return device;
}

// Whole mebibytes. A claim that names no amount consumes all of them, and so has the GPU to itself.
cage::RequestPolicy memory_policy(const SeenGpu& seen) {
  const auto mebibytes = [](unsigned long long count) {
    return cage::Quantity::bytes(static_cast<std::int64_t>(count * kMib));
  };
  return {.default_amount = mebibytes(*seen.gpu.memory / kMib),
          .values = {},
          .min = mebibytes(1),
          .max = std::nullopt,
          .step = mebibytes(1)};
}

void report_instances(const SeenGpu& seen, const DriverVersions& versions, cage::Snapshot& snapshot) {
  for (const MigInstance& instance : seen.instances) {
    const auto profile = std::ranges::find(seen.profiles, instance.profile, &MigProfile::id);
    if (profile == seen.profiles.end()) continue;
    snapshot.add(mig_device(seen, versions, instance.uuid, instance.uuid, *profile, instance.placement, true));
  }
}

cage::Device function_device(const PciGpu& function, const SeenGpu* seen) {
  cage::Device device(function.uuid, "vfio");
  device.name("gpu-vfio-" + std::to_string(function.index));
  set_address(device, function.bus_id);
  device.health(
      seen != nullptr
          ? access_of(*seen)
          : cage::Health::unmonitored("NoDriver", "it is not bound to NVIDIA's driver").about(cause::kAccess));
  device.attribute("type", "vfio").attribute("uuid", function.uuid);
  device.attribute("vendorID", function.vendor).attribute("deviceID", function.device);
  if (!function.product.empty()) device.attribute("productName", function.product);
  device.attribute("iommuFDEnabled", function.has_iommufd);
  if (function.memory > 0)
    device.capacity("addressableMemory", cage::Quantity::bytes(static_cast<std::int64_t>(function.memory)));
  return device;
}

std::string counter_set_of(const SeenGpu& seen) { return device_name(seen.gpu) + "-counter-set"; }

// The counters that the GPU's devices share. A GPU without partitions is counted as one unit.
cage::Quantities all_counters(const SeenGpu& seen, const Offer& offer) {
  if (!is_partitionable(seen, offer)) return {{"gpu", cage::Quantity::count(1)}};
  return counters(most_of(seen.profiles), {.start = 0, .size = memory_slices(seen.profiles)});
}

void report_undivided(const SeenGpu& seen, const DriverVersions& versions, const Offer& offer,
                      const cage::Quantities& all, cage::Snapshot& snapshot) {
  if (is_shared(seen, offer)) snapshot.policy(seen.gpu.uuid, "memory", memory_policy(seen));
  if (!snapshot.add(undivided_gpu_device(seen, versions, offer)) || !offers_function(seen, offer)) return;
  snapshot.counter_set(counter_set_of(seen), all);
  snapshot.consumes(seen.gpu.uuid, counter_set_of(seen), all);
}

// The whole GPU and every partition that it can have, which share counters.
void report_partitionable(const SeenGpu& seen, const DriverVersions& versions, const cage::Quantities& all,
                          cage::Snapshot& snapshot) {
  const std::string set = counter_set_of(seen);
  snapshot.counter_set(set, all);
  if (offers_whole(seen.gpu)) {
    cage::Device whole = gpu_device(seen, versions);
    // Publishes the memory of the largest profile, as NVIDIA's DRA driver does: the counter has no more.
    for (auto& [name, quantity] : engines(most_of(seen.profiles))) whole.capacity(name, quantity);
    if (snapshot.add(whole)) snapshot.consumes(seen.gpu.uuid, set, all);
  }
  if (!offers_partitions(seen.gpu)) return;
  for (const MigProfile& profile : seen.profiles) {
    for (const nvml::Placement placement : profile.placements) {
      const std::string id = dynamic_mig_id(seen.gpu, profile.id, placement.start);
      if (snapshot.add(mig_device(seen, versions, id, {}, profile, placement, false)))
        snapshot.consumes(id, set, counters(profile, placement));
    }
  }
}

}  // namespace

std::string dynamic_mig_id(const Gpu& gpu, unsigned profile, unsigned start) {
  return gpu.uuid + "/mig-" + std::to_string(profile) + "-" + std::to_string(start);
}

void report_devices(const Inventory& inventory, const std::vector<PciGpu>& functions, const Offer& offer,
                    cage::Snapshot& snapshot) {
  for (const SeenGpu& seen : inventory.gpus) {
    const cage::Quantities all = all_counters(seen, offer);
    if (is_partitionable(seen, offer) && snapshot.has_counters()) {
      report_partitionable(seen, inventory.versions, all, snapshot);
    } else if (seen.gpu.mig_enabled) {
      report_instances(seen, inventory.versions, snapshot);
    } else {
      report_undivided(seen, inventory.versions, offer, all, snapshot);
    }
  }
  for (const PciGpu& function : functions) {
    const SeenGpu* seen = inventory.at(function.bus_id);
    if (seen != nullptr && !offers_function(*seen, offer)) continue;
    if (snapshot.add(function_device(function, seen)) && seen != nullptr)
      snapshot.consumes(function.uuid, counter_set_of(*seen), all_counters(*seen, offer));
  }
}

bool is_device(const SeenGpu& seen, const Offer& offer) {
  return is_partitionable(seen, offer) ? offers_whole(seen.gpu) : !seen.gpu.mig_enabled;
}

std::string device_id(const SeenGpu& seen, const MigInstance& instance, const Offer& offer) {
  if (!is_partitionable(seen, offer)) return instance.uuid;
  return dynamic_mig_id(seen.gpu, instance.profile, instance.placement.start);
}

cage::Health access_of(const SeenGpu& seen) {
  const cage::Health health =
      seen.fault.empty() ? cage::Health::ok()
      : seen.has_driver
          ? cage::Health::bad("GpuLost", seen.fault).tainted(cage::Taint::no_schedule, taint_key_of(cause::kAccess))
          : cage::Health::bad("DriverFault", seen.fault).tainted(cage::Taint::no_schedule, "gpu.nvidia.com/driver");
  return health.about(cause::kAccess);
}

std::vector<std::string> whole_ids(const SeenGpu& seen, const Offer& offer) {
  std::vector<std::string> ids;
  const bool has_partitions = is_partitionable(seen, offer) ? offers_partitions(seen.gpu) : !seen.instances.empty();
  if (is_device(seen, offer) || has_partitions) ids.push_back(seen.gpu.uuid);
  if (offers_function(seen, offer)) ids.push_back(function_uuid(seen.gpu.bus_id));
  return ids;
}

std::vector<std::string> device_ids(const SeenGpu& seen, const Offer& offer) {
  std::vector<std::string> ids;
  const bool partitionable = is_partitionable(seen, offer);
  if (offers_function(seen, offer)) ids.push_back(function_uuid(seen.gpu.bus_id));
  if (is_device(seen, offer)) ids.push_back(seen.gpu.uuid);
  if (!partitionable)
    for (const MigInstance& instance : seen.instances) ids.push_back(instance.uuid);
  if (partitionable && offers_partitions(seen.gpu))
    for (const MigProfile& profile : seen.profiles)
      for (const nvml::Placement placement : profile.placements)
        ids.push_back(dynamic_mig_id(seen.gpu, profile.id, placement.start));
  return ids;
}

Target find_target(const Inventory& inventory, std::string_view device_id) {
  for (const SeenGpu& seen : inventory.gpus) {
    if (seen.gpu.uuid == device_id) return {.gpu = &seen};
    for (const MigInstance& instance : seen.instances)
      if (instance.uuid == device_id) return {.gpu = &seen, .instance = &instance};
    for (const MigProfile& profile : seen.profiles)
      for (const nvml::Placement placement : profile.placements)
        if (dynamic_mig_id(seen.gpu, profile.id, placement.start) == device_id)
          return {.gpu = &seen, .profile = &profile, .start = placement.start};
  }
  return {};
}

}  // namespace cardcage::nvidia
