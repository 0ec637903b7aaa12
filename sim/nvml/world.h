// Maps the State, and changes it by the rules of the driver. The fake library, its nvidia-smi and FakeGpus share this.
//
// Source: NVML API reference, chapters "Multi Instance GPU Management" and "Event Handling Methods"; NVIDIA Multi-
// Instance GPU User Guide.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>

#include "sim/nvml/state.h"

namespace cardcage::fake_nvml {

inline constexpr const char *kStateFile = "fake-nvidia-state", *kSmiLog = "nvidia-smi.log";

// The file in the folder, or null. It stays mapped until the process ends: a thread may be waiting in it.
State* map_state(const std::filesystem::path& folder);
// Replaces the file.
State* create_state(const std::filesystem::path& folder);

class StateLock {
 public:
  explicit StateLock(State& state) : state_(state) { lock(); }
  StateLock(const StateLock&) = delete;
  StateLock& operator=(const StateLock&) = delete;
  ~StateLock() {
    if (held_) unlock();
  }
  void lock();
  void unlock();
  // Unlocks until something changes. False at the deadline or after a signal.
  bool wait(std::chrono::steady_clock::time_point deadline);

 private:
  State& state_;
  bool held_ = false;
};

// All functions below need the lock.

// Wakes the calls that wait.
void announce(State& state);
unsigned index_of(const State& state, const Gpu& gpu);
// "0000:3b:00.0".
std::string bus_id(const Gpu& gpu, int domain_digits = 4, bool upper = false);
std::string make_uuid(const char* prefix, unsigned long long seed);
// 580 of "580.65.06".
unsigned branch_of(const char* version);
void copy_text(char* to, std::size_t size, const std::string& text);

void push_event(State& state, unsigned gpu, unsigned long long type, unsigned long long data,
                unsigned gi = nvml::kNoInstance, unsigned ci = nvml::kNoInstance);
// Makes the handles of the GPU die, and removes it from all event sets.
void expire_handles(State& state, Gpu& gpu);
// Does what `nvidia-smi --gpu-reset` does.
void reset_gpu(State& state, Gpu& gpu, const std::filesystem::path& root);

// Marks the slot as held by the process that has the file open.
bool hold_client_lock(int fd, unsigned slot);
// Frees the resources of ended processes.
void sweep_clients(State& state, const std::filesystem::path& folder);

// MIG. `root` is that of the tree, whose capability files follow the instances.
Profile* find_profile(Gpu& gpu, unsigned id);
nvml::Return set_mig_mode(State& state, Gpu& gpu, unsigned mode, nvml::Return& activation);
nvml::Return create_instance(State& state, Gpu& gpu, unsigned profile_id, unsigned start, unsigned& gi,
                             const std::filesystem::path& root);
nvml::Return destroy_instance(State& state, Gpu& gpu, unsigned gi, const std::filesystem::path& root);
// Whether the GPU instance profile has the compute instance profile, and how many compute slices that takes.
bool compute_slices(const Profile& profile, unsigned compute_profile, unsigned& slices);
unsigned compute_multiprocessors(const Gpu& gpu, const Profile& profile, unsigned slices);
nvml::Return create_compute(State& state, Gpu& gpu, unsigned gi, unsigned compute_profile, unsigned& ci,
                            const std::filesystem::path& root);
nvml::Return destroy_compute(State& state, Gpu& gpu, unsigned gi, unsigned ci, const std::filesystem::path& root);

// The minor of a capability, from the static table that /proc/driver/nvidia-caps/mig-minors prints; kNoInstance as `ci`
// means the GPU instance.
unsigned capability_minor(unsigned gpu_minor, unsigned gi, unsigned ci = nvml::kNoInstance);
// Makes or removes the files of one instance.
void write_capability(const std::filesystem::path& root, const Gpu& gpu, unsigned gi, unsigned ci);
void remove_capability(const std::filesystem::path& root, const Gpu& gpu, unsigned gi, unsigned ci);

}  // namespace cardcage::fake_nvml
