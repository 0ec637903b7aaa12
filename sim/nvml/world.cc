#include "sim/nvml/world.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace cardcage::fake_nvml {
namespace {

using Clock = std::chrono::steady_clock;
constexpr off_t kClientLocks = off_t{1} << 40;  // far behind the end of the file

State* map_file(int fd) {
  void* mapped = ::mmap(nullptr, sizeof(State), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  return mapped == MAP_FAILED ? nullptr : static_cast<State*>(mapped);
}

struct flock client_byte(unsigned slot) {
  struct flock range{};
  range.l_type = F_WRLCK;
  range.l_whence = SEEK_SET;
  range.l_start = kClientLocks + slot;
  range.l_len = 1;
  return range;
}

unsigned long long mix(unsigned long long value) {
  value += 0x9e3779b97f4a7c15ULL;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ULL;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebULL;
  return value ^ (value >> 31);
}

}  // namespace

State* map_state(const std::filesystem::path& folder) {
  const int fd = ::open((folder / kStateFile).c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) return nullptr;
  struct stat found{};
  State* state = nullptr;
  if (::fstat(fd, &found) == 0 && found.st_size == sizeof(State)) state = map_file(fd);
  ::close(fd);
  return state != nullptr && state->magic == State::kMagic && state->size == sizeof(State) ? state : nullptr;
}

State* create_state(const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / kStateFile;
  ::unlink(file.c_str());
  const int fd = ::open(file.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd < 0) return nullptr;
  State* state = ::ftruncate(fd, sizeof(State)) == 0 ? map_file(fd) : nullptr;
  ::fchmod(fd, 0666);
  ::close(fd);
  if (state == nullptr) return nullptr;
  pthread_mutexattr_t attributes;
  ::pthread_mutexattr_init(&attributes);
  ::pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  ::pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  ::pthread_mutex_init(&state->mutex, &attributes);
  ::pthread_mutexattr_destroy(&attributes);
  state->size = sizeof(State);
  state->next_serial = 1;
  state->magic = State::kMagic;
  return state;
}

void StateLock::lock() {
  // A process may be killed inside a call. The test has to expect its half-done changes.
  if (::pthread_mutex_lock(&state_.mutex) == EOWNERDEAD) ::pthread_mutex_consistent(&state_.mutex);
  held_ = true;
}

void StateLock::unlock() {
  held_ = false;
  ::pthread_mutex_unlock(&state_.mutex);
}

// A futex instead of a condition variable: that one hangs after a waiter was killed.
bool StateLock::wait(Clock::time_point deadline) {
  const std::uint32_t seen = std::atomic_ref(state_.changes).load();
  const auto left = deadline - Clock::now();
  if (left <= Clock::duration::zero()) return false;
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(left);
  timespec timeout{};
  timeout.tv_sec = seconds.count();
  timeout.tv_nsec = std::chrono::duration_cast<std::chrono::nanoseconds>(left - seconds).count();
  unlock();
  const long woken = ::syscall(SYS_futex, &state_.changes, FUTEX_WAIT, seen, &timeout, nullptr, 0);
  const int error = errno;
  lock();
  return woken == 0 || error == EAGAIN;
}

void announce(State& state) {
  std::atomic_ref(state.changes).fetch_add(1);
  ::syscall(SYS_futex, &state.changes, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

unsigned index_of(const State& state, const Gpu& gpu) { return static_cast<unsigned>(&gpu - state.gpus); }

std::string bus_id(const Gpu& gpu, int domain_digits, bool upper) {
  char text[nvml::kBusIdSize];
  std::snprintf(text, sizeof text, upper ? "%0*X:%02X:%02X.0" : "%0*x:%02x:%02x.0", domain_digits, gpu.domain, gpu.bus,
                gpu.device);
  return text;
}

std::string make_uuid(const char* prefix, unsigned long long seed) {
  const unsigned long long high = mix(seed), low = mix(high ^ seed);
  char text[nvml::kUuidSize];
  std::snprintf(text, sizeof text, "%s%08llx-%04llx-5%03llx-%04llx-%012llx", prefix, high >> 32, high >> 16 & 0xffff,
                high & 0xfff, (low >> 48 & 0x3fff) | 0x8000, low & 0xffffffffffffULL);
  return text;
}

unsigned branch_of(const char* version) { return static_cast<unsigned>(std::strtoul(version, nullptr, 10)); }

void copy_text(char* to, std::size_t size, const std::string& text) {
  const std::size_t length = std::min(text.size(), size - 1);
  std::memcpy(to, text.data(), length);
  std::memset(to + length, 0, size - length);
}

void push_event(State& state, unsigned gpu, unsigned long long type, unsigned long long data, unsigned gi,
                unsigned ci) {
  for (EventQueue& set : state.sets) {
    // The driver silently drops events that do not fit.
    if (!set.used || (set.registered[gpu] & type) == 0 || set.count == kMaxEvents) continue;
    set.events[(set.first + set.count++) % kMaxEvents] = {gpu, type, data, gi, ci};
  }
  announce(state);
}

void expire_handles(State& state, Gpu& gpu) {
  ++gpu.generation;
  const unsigned index = index_of(state, gpu);
  for (EventQueue& set : state.sets) set.registered[index] = 0;
  for (Client& client : state.clients) client.attached &= ~(1u << index);
  announce(state);
}

void reset_gpu(State& state, Gpu& gpu, const std::filesystem::path& root) {
  gpu.process_count = 0;
  for (unsigned gi = 0; gi < kMaxInstances; ++gi) {
    if (!gpu.instances[gi].used) continue;
    for (unsigned ci = 0; ci < kMaxComputes; ++ci) destroy_compute(state, gpu, gi, ci, root);
    destroy_instance(state, gpu, gi, root);
  }
  gpu.lost = false;
  gpu.mig_mode = gpu.mig_pending;
  gpu.ecc_mode = gpu.ecc_pending;
  gpu.ecc[nvml::kCorrected][nvml::kVolatile] = gpu.ecc[nvml::kUncorrected][nvml::kVolatile] = 0;
  gpu.sram.volatileCor = gpu.sram.volatileUncParity = gpu.sram.volatileUncSecDed = 0;
  gpu.rows.pending = gpu.retirement_pending = 0;
  gpu.recovery_action = nvml::kActionNone;
  gpu.compute_mode = nvml::kComputeDefault;
  gpu.timeslice = 0;
  gpu.pcie_replays = 0;
  for (Field& field : gpu.fields) {
    if (field.id == nvml::kFieldRecoveryAction || field.id == nvml::kFieldRemapPending) field.used = false;
  }
  expire_handles(state, gpu);
}

bool hold_client_lock(int fd, unsigned slot) {
  struct flock range = client_byte(slot);
  return ::fcntl(fd, F_OFD_SETLK, &range) == 0;
}

void sweep_clients(State& state, const std::filesystem::path& folder) {
  const int fd = ::open((folder / kStateFile).c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) return;
  for (unsigned slot = 0; slot < kMaxClients; ++slot) {
    if (!state.clients[slot].used) continue;
    struct flock range = client_byte(slot);
    if (::fcntl(fd, F_OFD_GETLK, &range) != 0 || range.l_type != F_UNLCK) continue;
    state.clients[slot] = {};
    for (EventQueue& set : state.sets) {
      if (set.used && set.client == slot) set.used = false;
    }
  }
  ::close(fd);
}

}  // namespace cardcage::fake_nvml
