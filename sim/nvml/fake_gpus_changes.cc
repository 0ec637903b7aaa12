#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "sim/nvml/fake_gpus.h"
#include "sim/nvml/tree.h"

namespace cardcage {
namespace {

using namespace fake_nvml;

void require(nvml::Return code, const char* what) {
  if (code != nvml::kSuccess) throw std::runtime_error(fmt::format("{}: NVML code {}", what, static_cast<int>(code)));
}

unsigned number(int gpu) { return static_cast<unsigned>(gpu); }

// The compute instance profile that takes the whole GPU instance.
unsigned whole_profile(const Profile& profile) {
  for (unsigned i = 0; i < nvml::kComputeInstanceProfiles; ++i) {
    unsigned slices = 0;
    if (compute_slices(profile, i, slices) && slices == profile.slices) return i;
  }
  throw std::runtime_error("no compute instance fills the GPU instance");
}

}  // namespace

void FakeGpus::raise_xid(int gpu, unsigned long long xid, unsigned gi, unsigned ci) {
  const Guard world = state();
  gpu_at(world, gpu);
  push_event(*world, number(gpu), nvml::kEventXid, xid, gi, ci);
}

void FakeGpus::raise_event(int gpu, unsigned long long type, unsigned long long data) {
  const Guard world = state();
  gpu_at(world, gpu);
  push_event(*world, number(gpu), type, data);
}

void FakeGpus::raise_xid_in_sets_of(int registered, int gpu, unsigned long long xid) {
  const Guard world = state();
  gpu_at(world, gpu);
  for (EventQueue& set : world->sets) {
    if (!set.used || (set.registered[number(registered)] & nvml::kEventXid) == 0 || set.count == kMaxEvents) continue;
    set.events[(set.first + set.count++) % kMaxEvents] = {number(gpu), nvml::kEventXid, xid, nvml::kNoInstance,
                                                          nvml::kNoInstance};
  }
}

void FakeGpus::set_recovery_action(int gpu, nvml::RecoveryAction action) {
  const Guard world = state();
  gpu_at(world, gpu).recovery_action = action;
  push_event(*world, number(gpu), nvml::kEventRecoveryAction, action);
}

void FakeGpus::lose(int gpu) {
  const Guard world = state();
  gpu_at(world, gpu).lost = true;
  fill_config_space(root_, gpu_at(world, gpu));
}

void FakeGpus::remove(int gpu) {
  const Guard world = state();
  Gpu& gone = gpu_at(world, gpu);
  reset_gpu(*world, gone, root_);
  gone.present = false;
  hide_gpu(root_, gone);
}

void FakeGpus::restore(int gpu) {
  const Guard world = state();
  Gpu& back = gpu_at(world, gpu);
  const bool was_removed = !back.present;
  reset_gpu(*world, back, root_);
  back.present = true;
  if (was_removed) show_gpu(root_, back);
  fill_config_space(root_, back);
  if (world->loaded) load_module(root_, *world);
}

void FakeGpus::bind(int gpu, const std::string& driver) {
  const Guard world = state();
  Gpu& bound = gpu_at(world, gpu);
  reset_gpu(*world, bound, root_);
  bound.present = driver == "nvidia";
  fake_nvml::bind_gpu(root_, *world, bound, driver);
}

void FakeGpus::deny(int gpu, bool denied) {
  const Guard world = state();
  gpu_at(world, gpu).denied = denied;
}

void FakeGpus::set_mig_mode(int gpu, bool on) {
  const Guard world = state();
  nvml::Return activation = nvml::kSuccess;
  Gpu& changed = gpu_at(world, gpu);
  require(fake_nvml::set_mig_mode(*world, changed, on ? nvml::kEnabled : nvml::kDisabled, activation), "MIG mode");
  if (activation == nvml::kResetRequired) reset_gpu(*world, changed, root_);
  if (activation == nvml::kInUse) require(activation, "MIG mode");
}

unsigned FakeGpus::create_instance(int gpu, unsigned profile_id, unsigned start) {
  const Guard world = state();
  Gpu& changed = gpu_at(world, gpu);
  unsigned gi = 0, ci = 0;
  require(fake_nvml::create_instance(*world, changed, profile_id, start, gi, root_), "GPU instance");
  const unsigned compute = whole_profile(changed.profiles[changed.instances[gi].profile]);
  require(create_compute(*world, changed, gi, compute, ci, root_), "compute instance");
  return gi;
}

void FakeGpus::destroy_instance(int gpu, unsigned gi) {
  const Guard world = state();
  Gpu& changed = gpu_at(world, gpu);
  if (gi >= kMaxInstances || !changed.instances[gi].used) throw std::out_of_range("there is no such instance");
  for (unsigned ci = 0; ci < kMaxComputes; ++ci) {
    if (changed.instances[gi].computes[ci].used)
      require(destroy_compute(*world, changed, gi, ci, root_), "compute instance");
  }
  require(fake_nvml::destroy_instance(*world, changed, gi, root_), "GPU instance");
}

void FakeGpus::reset(int gpu) {
  const Guard world = state();
  reset_gpu(*world, gpu_at(world, gpu), root_);
  fill_config_space(root_, gpu_at(world, gpu));
}

void FakeGpus::add_process(int gpu, unsigned pid, unsigned long long bytes, unsigned gi, unsigned ci,
                           Process::Kind kind) {
  const Guard world = state();
  Gpu& changed = gpu_at(world, gpu);
  if (changed.process_count == kMaxProcesses) throw std::runtime_error("too many processes");
  changed.processes[changed.process_count++] = {pid, kind, bytes, gi, ci};
}

void FakeGpus::remove_process(int gpu, unsigned pid) {
  const Guard world = state();
  Gpu& changed = gpu_at(world, gpu);
  Process* end = changed.processes + changed.process_count;
  Process* kept = std::remove_if(changed.processes, end, [pid](const Process& process) { return process.pid == pid; });
  changed.process_count = static_cast<unsigned>(kept - changed.processes);
}

void FakeGpus::set_field(int gpu, unsigned id, unsigned long long value, Return code) {
  const Guard world = state();
  Gpu& changed = gpu_at(world, gpu);
  Field* field =
      std::ranges::find_if(changed.fields, [id](const Field& found) { return found.used && found.id == id; });
  if (field == std::end(changed.fields)) field = std::ranges::find(changed.fields, false, &Field::used);
  if (field == std::end(changed.fields)) throw std::runtime_error("too many fields");
  *field = {true, id, code, value};
}

void FakeGpus::set_ecc(int gpu, nvml::EccErrorType type, nvml::EccCounter counter, unsigned long long errors) {
  const Guard world = state();
  gpu_at(world, gpu).ecc[type][counter] = errors;
}

void FakeGpus::set_remapped_rows(int gpu, const nvml::RemappedRows2& rows) {
  const Guard world = state();
  gpu_at(world, gpu).rows = rows;
}

void FakeGpus::set_temperature(int gpu, unsigned celsius) {
  const Guard world = state();
  Gpu& changed = gpu_at(world, gpu);
  changed.margin += static_cast<int>(changed.temperature) - static_cast<int>(celsius);
  changed.temperature = celsius;
}

void FakeGpus::set_link_width(int gpu, unsigned lanes) {
  const Guard world = state();
  gpu_at(world, gpu).pcie_width = lanes;
  write_file(sysfs() / "bus/pci/devices" / fake_nvml::bus_id(gpu_at(world, gpu)) / "current_link_width",
             fmt::format("{}\n", lanes));
}

void FakeGpus::set_fabric(int gpu, nvml::FabricState fabric, Return status, unsigned clique, unsigned health_mask,
                          unsigned char summary) {
  const Guard world = state();
  nvml::GpuFabricInfo3& changed = gpu_at(world, gpu).fabric;
  changed.state = fabric;
  changed.status = status;
  changed.cliqueId = clique;
  changed.healthMask = health_mask;
  changed.healthSummary = summary;
}

void FakeGpus::join_fabric(int gpu, unsigned clique) {
  set_fabric(gpu, nvml::kFabricCompleted, nvml::kSuccess, clique);
  const Guard world = state();
  std::ranges::fill(gpu_at(world, gpu).fabric.clusterUuid, static_cast<unsigned char>(0xab));
}

void FakeGpus::set_nvlink(int gpu, unsigned link, std::optional<int> peer) {
  constexpr unsigned kSwitchBus = 0x05;
  const Guard world = state();
  Gpu& changed = gpu_at(world, gpu);
  if (link >= kMaxLinks) throw std::out_of_range("there is no such link");
  changed.link_count = std::max(changed.link_count, link + 1);
  changed.links[link] = {true, false, nvml::kRemoteSwitch, 0, kSwitchBus, 0};
  if (!peer) return;
  const Gpu& other = gpu_at(world, *peer);
  changed.links[link] = {true, false, nvml::kRemoteGpu, other.domain, other.bus, other.device};
}

void FakeGpus::cut_nvlink(int gpu, unsigned link) {
  const Guard world = state();
  if (link >= kMaxLinks) throw std::out_of_range("there is no such link");
  gpu_at(world, gpu).links[link].active = false;
}

}  // namespace cardcage
