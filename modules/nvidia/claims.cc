#include "modules/nvidia/claims.h"

#include <algorithm>
#include <exception>

#include "modules/common/attempts.h"
#include "modules/nvidia/device_nodes.h"
#include "modules/nvidia/gpu_modes.h"
#include "modules/nvidia/mig_changes.h"
#include "modules/nvidia/reset.h"
#include "modules/nvidia/sharing.h"
#include "modules/nvidia/unbind_lock.h"
#include "modules/nvidia/uvm.h"

namespace cardcage::nvidia {
namespace {

// The first line of the state, so that a claim that changed nothing is known to be in use, too.
const std::string kPrepared = "prepared\n";
constexpr int kVolta = 7;  // compute capability

// The compute mode that the sharing needs; nothing if it needs none.
std::optional<unsigned> wanted_mode(const Sharing& sharing) {
  if (sharing.mps) return nvml::kComputeExclusiveProcess;
  if (sharing.time_slice) return nvml::kComputeDefault;
  return std::nullopt;
}

// Only profiles such as 1g.24gb+gfx let an instance draw.
bool has_graphics(const SeenGpu& seen, const MigInstance& instance) {
  const auto profile = std::ranges::find(seen.profiles, instance.profile, &MigProfile::id);
  return profile != seen.profiles.end() && profile->graphics;
}

}  // namespace

void Claims::prepare(const cage::Call& call, const cage::Claim& claim, cage::Edits& edits) {
  const auto once = driver_.look_once();
  const Changes before = changes_of(claim);
  Changes changes = before;
  for (const cage::Allocation& device : claim.allocations()) changes.add(plan(device));
  if (claim.state().empty())
    for (const cage::Allocation& device : claim.allocations())
      leftovers_.require_none(device, find_function(device.device()));
  if (changes != before) edits.journal(encode(changes));
  try {
    apply(call, claim, edits);
  } catch (...) {
    // A claim that was already prepared is in use and keeps its changes.
    if (claim.state().empty()) try_to_undo(call, claim.uid(), changes);
    throw;
  }
  edits.save(kPrepared + encode(changes));
}

void Claims::unprepare(const cage::Call& call, const cage::Claim& claim) {
  const auto once = driver_.look_once();
  const Changes changes = changes_of(claim);
  undo_helpers(call, claim.uid(), changes);
  if (kernel_driver_version(driver_.node().procfs).empty()) return;
  const bool was_in_use = !claim.state().empty() && !claim.other_boot();
  if (was_in_use) leftovers_.end(call, claim);
  undo_modes(call, changes);
  if (was_in_use && policy_.reset) reset_whole_gpus(call, claim);
}

bool Claims::needs_hardware(const cage::Claim& claim) const {
  return policy_.leftovers != Leftovers::kReport || policy_.reset || !changes_of(claim).empty();
}

// No change outlives a restart of the node.
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

std::optional<PciGpu> Claims::find_function(std::string_view device_id) const {
  if (!policy_.passthrough || find_target(driver_.inventory(), device_id).gpu != nullptr) return std::nullopt;
  return find_pci_gpu(driver_.node(), device_id);
}

Changes Claims::plan(const cage::Allocation& device) {
  Changes changes;
  if (const auto function = find_function(device.device())) {
    if (device.admin())
      throw cage::Error(CAGE_FAILED_PRECONDITION, "admin access to '" + std::string(device.device()) +
                                                      "' would take the function from its user; request the GPU");
    return plan_function(*function);
  }
  const Target target = must_find(device.device());
  const Gpu& gpu = target.gpu->gpu;
  const Sharing sharing = sharing_of(device);
  if (device.admin()) return changes;
  if (target.profile != nullptr)
    changes.partitions.push_back({.bus_id = gpu.bus_id, .profile = target.profile->id, .start = target.start});
  changes.mps = sharing.mps.has_value();
  if (changes.mps && sharing.mps->multi_user && gpu.compute_capability && gpu.compute_capability->first < kVolta)
    throw cage::Error(
        CAGE_INVALID_ARGUMENT,
        "GPU " + gpu.bus_id + " is older than Volta, whose MPS serves one user at a time; remove " + field::kMultiUser);
  if (sharing.time_slice.value_or(kDefaultInterval) != kDefaultInterval) changes.time_slices.push_back(gpu.uuid);
  if (const auto mode = wanted_mode(sharing); mode && target.is_whole()) {
    const unsigned now = compute_mode(driver_.nvml(), driver_.handle(gpu), gpu);
    if (now != *mode) changes.compute_modes.push_back({.bus_id = gpu.bus_id, .before = now});
  }
  return changes;
}

Changes Claims::plan_function(const PciGpu& function) {
  Changes changes;
  if (driver_.is_released(function.bus_id))
    throw cage::Error(CAGE_UNAVAILABLE, "GPU " + function.bus_id + " is quiesced; resume it: cagectl module resume");
  changes.functions = passthrough_.functions_of(function);
  const SeenGpu* seen = driver_.look().at(function.bus_id);  // it may have another driver now
  if (seen == nullptr || !seen->fault.empty()) return changes;
  if (is_persistent(driver_.nvml(), driver_.handle(seen->gpu))) changes.persistent.push_back(function.bus_id);
  return changes;
}

void Claims::apply(const cage::Call& call, const cage::Claim& claim, cage::Edits& edits) {
  const auto devices = claim.allocations();
  const bool has_gpu =
      std::ranges::any_of(devices, [&](const cage::Allocation& device) { return !find_function(device.device()); });
  const Majors majors = has_gpu ? majors_with_uvm(call, host_, driver_.node()) : Majors();
  std::vector<MpsGroup> groups;
  edits.of_claim().env("NVIDIA_VISIBLE_DEVICES", "void");  // keeps NVIDIA's own runtime from adding GPUs
  for (const cage::Allocation& device : devices) {
    if (find_function(device.device())) continue;
    const std::string uuid = apply(call, device, majors, edits);
    const Sharing sharing = sharing_of(device);
    if (!sharing.mps) continue;
    auto group = std::ranges::find(groups, *sharing.mps, &MpsGroup::settings);
    if (group == groups.end()) group = groups.insert(groups.end(), {*sharing.mps, {}});
    group->devices.push_back(uuid);
    mps_.add_to(edits.of(device), claim.uid());
  }
  if (has_gpu) add_driver(majors, edits.of_claim());
  if (const auto mount = node_mps_mount(driver_.node(), policy_.capabilities); mount && has_gpu && groups.empty())
    edits.of_claim().mount(*mount);
  if (!groups.empty()) mps_.start(call, claim.uid(), groups);
  // Last, because it closes NVML.
  for (const cage::Allocation& device : devices) {
    const auto function = find_function(device.device());
    if (!function) continue;
    give_away(call, *function);
    passthrough_.add_to(edits.of(device), device, *function);
  }
}

// Adds the files and nodes that every container with a GPU needs.
void Claims::add_driver(const Majors& majors, cage::Edit edit) {
  for (const cage::DeviceNode& one : control_nodes(driver_.node(), majors)) edit.device_node(one);
  std::ignore = driver_.nvml();  // notices another driver
  if (mounts_.empty() || mounts_generation_ != driver_.generation()) {
    mounts_ = driver_mounts(driver_.node(), *driver_.library_file(), policy_.capabilities);
    mounts_generation_ = driver_.generation();
  }
  for (const cage::Mount& mount : mounts_) edit.mount(mount);
  show_libraries(edit, version_of_library(driver_.library_file()->host), policy_.capabilities);
  if (const std::string params = params_without_node_changes(driver_.node()); !params.empty())
    edit.proc_text("/proc/driver/nvidia/params", params);
  for (const cage::Mount& mount : socket_mounts(driver_.node(), policy_.capabilities)) edit.mount(mount);
  const CompanionFiles beside = companion_files(driver_.node(), policy_.companions);
  for (const cage::DeviceNode& one : beside.nodes) edit.device_node(one);
  for (const cage::Mount& mount : beside.mounts) edit.mount(mount);
  for (const std::string& missing : beside.missing) host_.warn() << missing;
}

std::string Claims::apply(const cage::Call& call, const cage::Allocation& device, const Majors& majors,
                          cage::Edits& edits) {
  const Target target = must_find(device.device());
  const Gpu& gpu = target.gpu->gpu;
  std::optional<MigInstance> instance;
  if (target.instance != nullptr) instance = *target.instance;
  if (target.profile != nullptr) {
    if (device.admin())
      throw cage::Error(CAGE_FAILED_PRECONDITION, "admin access to '" + std::string(device.device()) +
                                                      "' would have to create it; ask for the GPU");
    const auto placement = std::ranges::find(target.profile->placements, target.start, &nvml::Placement::start);
    enable_mig(driver_.nvml(), driver_.handle(gpu), gpu);
    instance = make_instance(driver_.nvml(), driver_.handle(gpu), gpu, *target.profile, *placement);
  }
  if (target.is_whole() && !device.admin()) require_mig_off(driver_.nvml(), driver_.handle(gpu), gpu);
  if (!device.admin()) {
    const Sharing sharing = sharing_of(device);
    if (const auto mode = wanted_mode(sharing); mode && target.is_whole())
      set_compute_mode(driver_.nvml(), driver_.handle(gpu), gpu, *mode);
    if (sharing.time_slice) set_time_slice(call, driver_.smi(), gpu.uuid, *sharing.time_slice);
  }

  cage::Edit edit = edits.of(device);
  edit.device_node(gpu_node(gpu, majors));
  if (instance)
    for (const cage::DeviceNode& one :
         mig_nodes(driver_.node(), majors, gpu, instance->gpu_instance, instance->compute_instance))
      edit.device_node(one);
  if (serves_graphics(policy_.capabilities) && (!instance || has_graphics(*target.gpu, *instance)))
    for (const cage::DeviceNode& one : display_nodes(driver_.node(), gpu)) edit.device_node(one);
  return instance ? instance->uuid : gpu.uuid;
}

void Claims::give_away(const cage::Call& call, const PciGpu& function) {
  const SeenGpu* seen = driver_.inventory().at(function.bus_id);
  if (seen != nullptr && seen->fault.empty()) {
    const nvml::Device handle = driver_.handle(seen->gpu);
    if (is_persistent(driver_.nvml(), handle)) set_persistent(driver_.nvml(), handle, seen->gpu, false);
  }
  driver_.close();
  const UnbindLock lock(driver_.node(), host_, function.uuid, function.bus_id);
  lock.take(call);
  try {
    passthrough_.give(call, function);
  } catch (...) {
    lock.give_back(call);
    throw;
  }
  host_.rescan();  // the GPU has left NVIDIA's driver
}

// A failure here is retried when the claim is released, because the journal lists the changes.
void Claims::try_to_undo(const cage::Call& call, std::string_view claim_uid, const Changes& changes) {
  try {
    undo_helpers(call, claim_uid, changes);
    undo_modes(call, changes);
  } catch (const std::exception& error) {
    host_.warn() << "undoing a failed prepare: " << error.what();
  }
}

void Claims::undo_helpers(const cage::Call& call, std::string_view claim_uid, const Changes& changes) {
  if (changes.mps) mps_.stop(call, claim_uid);
  for (const std::string& function : changes.functions) {
    try {
      passthrough_.take_back(call, function);
      // A crashed prepare may have left the lock.
      UnbindLock(driver_.node(), host_, function_uuid(function), function).give_back(call);
    } catch (const cage::Error& error) {
      if (error.status() != CAGE_PERMISSION_DENIED) throw;
      host_.warn() << "the module may not bind drivers, so " << function << " keeps its driver";
    }
  }
  if (!changes.functions.empty()) host_.rescan();
}

// A change that cannot be undone does not keep the others. Throws the first error after all were tried.
void Claims::undo_modes(const cage::Call& call, const Changes& changes) {
  if (changes.empty() || kernel_driver_version(driver_.node().procfs).empty()) return;
  driver_.look();
  if (!driver_.fault().empty())
    throw cage::Error(CAGE_UNAVAILABLE,
                      "the NVIDIA driver does not respond, and the claim has changed GPUs: " + driver_.fault());
  hardware::Attempts attempts;
  for (const std::string& uuid : changes.time_slices) attempts.run([&] { undo_time_slice(call, uuid); });
  for (const Changes::ComputeMode& one : changes.compute_modes)
    attempts.run([&] {
      if (const SeenGpu* seen = find_to_undo(one.bus_id))
        set_compute_mode(driver_.nvml(), driver_.handle(seen->gpu), seen->gpu, one.before);
    });
  for (const std::string& bus_id : changes.persistent)
    attempts.run([&] {
      if (const SeenGpu* seen = find_to_undo(bus_id))
        set_persistent(driver_.nvml(), driver_.handle(seen->gpu), seen->gpu, true);
    });
  for (const Changes::Partition& partition : changes.partitions) attempts.run([&] { remove_partition(partition); });
  attempts.finish();
}

// Null for a lost or removed GPU: its changes have gone with it. Any other fault keeps the change in place.
const SeenGpu* Claims::find_to_undo(const std::string& bus_id) {
  const SeenGpu* seen = driver_.inventory().at(bus_id);
  if (seen == nullptr) return nullptr;
  if (seen->released)
    throw cage::Error(CAGE_UNAVAILABLE, "GPU " + bus_id + " is quiesced; resume it to release the claim");
  if (!seen->fault.empty() && !seen->lost)
    throw cage::Error(CAGE_UNAVAILABLE,
                      "GPU " + bus_id + " does not respond, and the claim has used it: " + seen->fault);
  return seen->fault.empty() ? seen : nullptr;
}

// A claim does not wait for this: the operator may forbid nvidia-smi, or the GPU may have no time slices.
void Claims::undo_time_slice(const cage::Call& call, const std::string& uuid) {
  const SeenGpu* seen = driver_.inventory().find(uuid);
  if (seen == nullptr || (!seen->fault.empty() && !seen->released)) return;
  find_to_undo(seen->gpu.bus_id);
  try {
    set_time_slice(call, driver_.smi(), uuid, kDefaultInterval);
  } catch (const cage::Error& error) {
    host_.warn() << "the time slice of GPU " << seen->gpu.bus_id << " may not be the default: " << error.what();
  }
}

void Claims::remove_partition(const Changes::Partition& partition) {
  const SeenGpu* seen = find_to_undo(partition.bus_id);
  if (seen == nullptr) return;
  // A GPU that is lost meanwhile fails here; at the next attempt its instance is gone.
  const nvml::Device device = driver_.handle(seen->gpu);
  remove_instance(driver_.nvml(), device, seen->gpu, partition.profile, partition.start);
  disable_unused_mig(driver_.nvml(), device, seen->gpu);
}

void Claims::remove_strangers(const std::vector<cage::Claim>& live) {
  Changes wanted;
  for (const cage::Claim& claim : live) wanted.add(changes_of(claim));
  for (const SeenGpu& seen : Inventory(driver_.look()).gpus) {
    if (!seen.responds() || !seen.gpu.mig_enabled || has_instances_of_host(seen.gpu)) continue;
    try {
      for (const InstancePlace& place : instance_places(driver_.nvml(), driver_.handle(seen.gpu), seen.profiles)) {
        const Changes::Partition stranger{.bus_id = seen.gpu.bus_id, .profile = place.profile, .start = place.start};
        if (std::ranges::find(wanted.partitions, stranger) == wanted.partitions.end()) remove_stranger(stranger);
      }
    } catch (const cage::Error& error) {
      host_.warn() << error.what();
    }
  }
}

void Claims::remove_stranger(const Changes::Partition& stranger) {
  host_.info() << "removing the MIG instance with profile " << stranger.profile << " at memory slice " << stranger.start
               << " of GPU " << stranger.bus_id << ", which no claim holds";
  try {
    remove_partition(stranger);
  } catch (const cage::Error& error) {
    host_.warn() << error.what();
  }
}

void Claims::reset_whole_gpus(const cage::Call& call, const cage::Claim& claim) {
  std::vector<Gpu> gpus;
  driver_.look();
  for (const cage::Allocation& device : claim.allocations()) {
    const Target target = find_target(driver_.inventory(), device.device());
    if (target.gpu == nullptr || !target.is_whole() || has_company(device)) continue;
    // A lost GPU needs more than a reset.
    if (const SeenGpu* seen = find_to_undo(target.gpu->gpu.bus_id)) gpus.push_back(seen->gpu);
  }
  if (!gpus.empty()) reset_together(call, driver_, gpus);
}

}  // namespace cardcage::nvidia
