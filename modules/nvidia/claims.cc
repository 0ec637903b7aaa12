#include "modules/nvidia/claims.h"

#include <algorithm>
#include <array>

#include "modules/nvidia/device_nodes.h"
#include "modules/nvidia/mig_changes.h"

namespace cardcage::nvidia {
namespace {

// By the number that nvidia-smi compute-policy takes.
constexpr std::array<std::string_view, 4> kIntervals{"Default", "Short", "Medium", "Long"};
constexpr unsigned kDefaultInterval = 0;

// The time slice that the parameters ask for, if they do.
std::optional<unsigned> wanted_interval(const cage::Allocation& device) {
  constexpr const char* kInterval = "sharing.timeSlicingConfig.interval";
  if (!device.has_params() || device.params().kind() != "GpuConfig") return std::nullopt;
  const cage::Values params = device.params();
  if (!params.given("sharing.strategy") && !params.given(kInterval)) return std::nullopt;
  return static_cast<unsigned>(std::ranges::find(kIntervals, params.text(kInterval)) - kIntervals.begin());
}

bool is_mig_enabled(const nvml::Library& nvml, nvml::Device device) {
  unsigned current = 0, pending = 0;
  return nvml->nvmlDeviceGetMigMode != nullptr &&
         nvml->nvmlDeviceGetMigMode(device, &current, &pending) == nvml::kSuccess && current == nvml::kEnabled;
}

}  // namespace

void Claims::prepare(const cage::Call& call, const cage::Claim& claim, cage::Edits& edits) {
  const Changes before = changes_of(claim);
  const auto devices = claim.allocations();
  Changes changes = before;
  for (const cage::Allocation& device : devices) changes.add(plan(device, must_find(device.device()), before));
  if (changes != before) edits.journal(encode(changes));
  try {
    const Majors majors = read_majors(driver_.node().procfs);
    add_driver(majors, edits.of_claim());
    for (const cage::Allocation& device : devices) apply(call, device, must_find(device.device()), majors, edits);
  } catch (...) {
    // A claim that was prepared before is in use and keeps what it has.
    if (claim.state().empty()) try_to_undo(call, changes);
    throw;
  }
  edits.save(encode(changes));
}

void Claims::unprepare(const cage::Call& call, const cage::Claim& claim) { undo(call, changes_of(claim)); }

// Neither MIG instances nor time slices outlive a restart of the node.
Changes Claims::changes_of(const cage::Claim& claim) {
  Changes changes;
  if (claim.other_boot()) return changes;
  changes.add(decode_changes(claim.state()));
  changes.add(decode_changes(claim.journal()));
  return changes;
}

Target Claims::must_find(std::string_view device_id) {
  Target target = find_target(driver_.inventory(), device_id);
  if (target.gpu == nullptr) target = find_target(driver_.look(), device_id);
  if (target.gpu == nullptr)
    throw cage::Error(CAGE_NOT_FOUND, "device '" + std::string(device_id) + "' is not on this node any more");
  if (target.gpu->released)
    throw cage::Error(CAGE_UNAVAILABLE,
                      "GPU " + target.gpu->gpu.bus_id + " is quiesced; resume it: cagectl module resume");
  if (!target.gpu->fault.empty())
    throw cage::Error(CAGE_UNAVAILABLE, "GPU " + target.gpu->gpu.bus_id + " does not respond: " + target.gpu->fault);
  return target;
}

Changes Claims::plan(const cage::Allocation& device, const Target& target, const Changes& before) {
  Changes changes;
  const Gpu& gpu = target.gpu->gpu;
  if (device.admin()) return changes;
  if (target.profile != nullptr) {
    const auto known = std::ranges::find_if(before.partitions, [&](const Changes::Partition& one) {
      return one.bus_id == gpu.bus_id && one.profile == target.profile->id && one.start == target.start;
    });
    if (known != before.partitions.end()) return changes;
    const bool enabled = is_mig_enabled(driver_.nvml(), driver_.handle(gpu));
    changes.partitions.push_back(
        {.bus_id = gpu.bus_id, .profile = target.profile->id, .start = target.start, .switched_mode = !enabled});
  }
  if (wanted_interval(device).value_or(kDefaultInterval) != kDefaultInterval) changes.time_slices.push_back(gpu.uuid);
  return changes;
}

// What every container gets, whatever its devices.
void Claims::add_driver(const Majors& majors, cage::Edit edit) {
  edit.env("NVIDIA_VISIBLE_DEVICES", "void");  // keeps NVIDIA's own runtime from adding GPUs
  for (const cage::DeviceNode& one : control_nodes(driver_.node(), majors)) edit.device_node(one);
  std::ignore = driver_.nvml();  // notices another driver
  if (mounts_.empty() || mounts_generation_ != driver_.generation()) {
    mounts_ = driver_mounts(driver_.node(), *driver_.library_file(), capabilities_);
    mounts_generation_ = driver_.generation();
  }
  for (const cage::Mount& mount : mounts_) edit.mount(mount);
  for (const cage::Mount& mount : socket_mounts(driver_.node(), capabilities_)) edit.mount(mount);
}

void Claims::apply(const cage::Call& call, const cage::Allocation& device, const Target& target, const Majors& majors,
                   cage::Edits& edits) {
  const Gpu& gpu = target.gpu->gpu;
  std::optional<MigInstance> instance;
  if (target.instance != nullptr) instance = *target.instance;
  if (target.profile != nullptr) {
    if (device.admin())
      throw cage::Error(CAGE_FAILED_PRECONDITION, "admin access to '" + std::string(device.device()) +
                                                      "' would have to create it; ask for the GPU");
    const auto placement = std::ranges::find(target.profile->placements, target.start, &nvml::Placement::start);
    const nvml::Device handle = driver_.handle(gpu);
    if (!is_mig_enabled(driver_.nvml(), handle)) enable_mig(driver_.nvml(), handle, gpu);
    instance = make_instance(driver_.nvml(), driver_.handle(gpu), gpu, *target.profile, *placement);
  }
  if (const auto interval = wanted_interval(device); interval && !device.admin())
    set_time_slice(call, gpu.uuid, *interval);

  edits.of(device).device_node(gpu_node(gpu, majors));
  if (instance)
    for (const cage::DeviceNode& one :
         mig_nodes(driver_.node(), majors, gpu, instance->gpu_instance, instance->compute_instance))
      edits.of(device).device_node(one);
  const bool shows = capabilities_.contains(Capability::graphics) || capabilities_.contains(Capability::display);
  if (shows && !instance)
    for (const cage::DeviceNode& one : display_nodes(driver_.node(), gpu)) edits.of(device).device_node(one);
}

void Claims::undo(const cage::Call& call, const Changes& changes) {
  if (changes.empty() || kernel_driver_version(driver_.node().procfs).empty()) return;
  driver_.look();
  for (const std::string& uuid : changes.time_slices) {
    const SeenGpu* seen = driver_.inventory().find(uuid);
    if (seen != nullptr && seen->fault.empty()) set_time_slice(call, uuid, kDefaultInterval);
  }
  for (const Changes::Partition& partition : changes.partitions) remove_partition(partition);
}

// What fails here is tried again when the claim is released: the journal has it.
void Claims::try_to_undo(const cage::Call& call, const Changes& changes) {
  try {
    undo(call, changes);
  } catch (const std::exception& error) {
    host_.warn() << "after a prepare that failed: " << error.what();
  }
}

void Claims::remove_partition(const Changes::Partition& partition) {
  const SeenGpu* seen = driver_.inventory().at(partition.bus_id);
  if (seen == nullptr) return;
  if (seen->released)
    throw cage::Error(CAGE_UNAVAILABLE, "GPU " + partition.bus_id + " is quiesced; resume it to release the claim");
  try {
    const nvml::Device device = driver_.handle(seen->gpu);
    remove_instance(driver_.nvml(), device, seen->gpu, partition.profile, partition.start);
    if (partition.switched_mode) disable_unused_mig(driver_.nvml(), device, seen->gpu);
  } catch (const nvml::Failure& failure) {
    if (!nvml::means_lost(failure.code())) throw;
    host_.warn() << failure.what() << "; its MIG instances go with the reset that it needs";
  }
}

void Claims::remove_strangers(const std::vector<cage::Claim>& live) {
  Changes wanted;
  for (const cage::Claim& claim : live) wanted.add(changes_of(claim));
  for (const SeenGpu& seen : Inventory(driver_.look()).gpus) {
    for (const MigInstance& instance : seen.instances) {
      const bool is_wanted = std::ranges::any_of(wanted.partitions, [&](const Changes::Partition& one) {
        return one.bus_id == seen.gpu.bus_id && one.profile == instance.profile &&
               one.start == instance.placement.start;
      });
      if (is_wanted) continue;
      host_.info() << "removing MIG instance " << instance.uuid << " of GPU " << seen.gpu.bus_id
                   << ", which no claim holds";
      try {
        remove_partition({.bus_id = seen.gpu.bus_id, .profile = instance.profile, .start = instance.placement.start});
      } catch (const cage::Error& error) {
        host_.warn() << error.what();
      }
    }
  }
}

void Claims::set_time_slice(const cage::Call& call, const std::string& uuid, unsigned interval) {
  const auto run = [&](std::vector<std::string> arguments) {
    const cage::ProgramResult result =
        host_.run(call, {.name = "nvidia-smi", .arguments = std::move(arguments), .environment = {}});
    if (result.exit_status == 0) return;
    const std::string& said = result.err.empty() ? result.out : result.err;
    throw cage::Error(CAGE_UNAVAILABLE, "setting the time slice of GPU " + uuid + ": nvidia-smi " +
                                            (result.timed_out ? "did not end in time" : "failed: " + said));
  };
  run({"-i", uuid, "-c", "DEFAULT"});
  run({"compute-policy", "-i", uuid, "--set-timeslice", std::to_string(interval)});
}

}  // namespace cardcage::nvidia
