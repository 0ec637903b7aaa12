// The GPUs of the fake driver, as plain data in a file that all processes map. A zeroed State is a driver that is not
// loaded; FakeGpus fills it in.
#pragma once

#include <pthread.h>

#include <cstdint>

#include "modules/nvidia/nvml/types.h"
#include "sim/nvml/library/more_functions.h"

namespace cardcage::fake_nvml {

inline constexpr unsigned kMaxGpus = 16, kMaxProfiles = 20, kMaxStarts = 8, kMaxInstances = 15, kMaxComputes = 8,
                          kMaxMigDevices = 8, kMaxProcesses = 32, kMaxLinks = 18, kMaxFields = 32, kMaxSets = 32,
                          kMaxEvents = 256, kMaxClients = 64;
inline constexpr unsigned kNoSlot = 0xffffffff;

// The exported functions.
enum class Call : unsigned {
#define CARDCAGE_NVML_CALL(name, parameters) name,
  CARDCAGE_NVML_ALL(CARDCAGE_NVML_CALL)
#undef CARDCAGE_NVML_CALL
      kCount
};
inline constexpr unsigned kCallCount = static_cast<unsigned>(Call::kCount);
inline constexpr const char* kCallNames[] = {
#define CARDCAGE_NVML_CALL(name, parameters) #name,
    CARDCAGE_NVML_ALL(CARDCAGE_NVML_CALL)
#undef CARDCAGE_NVML_CALL
};

// The faults that a test injects into a function, and the count of its calls.
struct Function {
  unsigned long long calls;
  nvml::Return failure;
  int failures;  // left; -1 = forever
  unsigned delay_ms;
  std::uint8_t hangs;
};

struct Profile {
  unsigned index, id;  // index in the enumeration, and the id that users see
  unsigned slices, instances, placement_size, start_count;
  unsigned starts[kMaxStarts];
  unsigned gi_ids[kMaxStarts];  // the id that an instance at starts[i] gets if it is free, else the first free one
  unsigned multiprocessors, copy_engines, decoders, encoders, jpeg_engines, ofa_engines;
  unsigned long long memory_mib;
  unsigned capabilities;
  char name[nvml::kProfileNameSize];
};

struct Compute {
  bool used;
  unsigned profile;  // index and id are the same
  unsigned start, slices;
  unsigned serial;
  char uuid[nvml::kUuidSize];
};

// Percent, and MiB per second.
struct GpmValues {
  double graphics, tensor, dram, pcie_tx, pcie_rx;
};

struct Instance {
  bool used;
  unsigned profile;  // in Gpu::profiles
  unsigned start, serial;
  Compute computes[kMaxComputes];
  GpmValues gpm;  // without PCIe, which belongs to the whole GPU
};

struct Process {
  enum Kind : unsigned { kCompute, kGraphics, kMps };
  unsigned pid;
  Kind kind;
  unsigned long long bytes;
  unsigned gi, ci;
};

struct Link {
  bool active, absent;  // absent: NOT_SUPPORTED, although the GPU has others
  nvml::NvLinkRemote remote;
  unsigned domain, bus, device;  // the remote end
};

struct Field {
  bool used;
  unsigned id;
  nvml::Return code;
  unsigned long long value;
};

struct MigDevice {
  bool used;
  unsigned gi, ci;
};

struct Gpu {
  bool present, lost, denied;
  unsigned generation;  // changes when handles die
  // Identity.
  char name[nvml::kNameSize], uuid[nvml::kUuidSize], serial[nvml::kSerialSize];
  unsigned minor, module_id, brand, architecture, major, minor_capability;
  nvml::AddressingMode addressing;
  unsigned domain, bus, device, root_bus;
  int numa_node;
  unsigned pci_id, pci_subsystem;  // device << 16 | vendor
  // Memory in bytes; `used` excludes the memory of listed processes.
  unsigned long long memory_total, memory_reserved, memory_used, bar1_total;
  bool memory_supported;
  // Modes and sensors.
  unsigned compute_mode, persistence, timeslice;
  unsigned clocks[4];
  unsigned long long clock_reasons;
  unsigned power_mw, power_limit_mw, power_default_mw;
  unsigned long long energy_mj;
  unsigned temperature, memory_temperature;
  unsigned thresholds[4];  // by nvml::TemperatureThreshold; 0 = the card has none
  int margin, shutdown_tlimit, slowdown_tlimit, memory_tlimit, max_tlimit;
  unsigned gpu_percent, memory_percent, encoder_percent, decoder_percent;
  GpmValues gpm;
  unsigned long long violations_ns[6];  // by nvml::kField...Violation
  unsigned long long nvlink_kib[2];     // sent, received
  unsigned pcie_generation, pcie_max_generation, pcie_width, pcie_max_width, pcie_replays;
  // ECC and repair.
  bool ecc_supported, retires_pages, remaps_rows;
  unsigned ecc_mode, ecc_pending;
  unsigned long long ecc[2][2];  // [EccErrorType][EccCounter]
  nvml::EccSramErrorStatus sram;
  unsigned retired_pages[2], retirement_pending;
  nvml::RemappedRows2 rows;
  nvml::RowRemapperHistogram banks;
  nvml::RecoveryAction recovery_action;
  // Links and fabric.
  unsigned link_count;
  Link links[kMaxLinks];
  nvml::GpuFabricInfo3 fabric;
  // MIG.
  nvml::VirtualizationMode virtualization;
  bool mig_capable, mig_resetless;
  unsigned mig_mode, mig_pending, mig_max_devices, profile_count;
  Profile profiles[kMaxProfiles];
  Instance instances[kMaxInstances];  // by id
  MigDevice mig_devices[kMaxMigDevices];
  unsigned long long supported_events;
  unsigned process_count;
  Process processes[kMaxProcesses];
  Field fields[kMaxFields];
};

struct Event {
  unsigned gpu;
  unsigned long long type, data;
  unsigned gi, ci;
};

struct EventQueue {
  bool used;
  unsigned serial, client;
  unsigned long long registered[kMaxGpus];
  unsigned first, count;
  Event events[kMaxEvents];
};

// A process that has initialized the library. While it lives it holds a lock on one byte of the file.
struct Client {
  bool used;
  unsigned pid;
  std::uint32_t attached;  // bit per GPU
};

struct State {
  static constexpr unsigned kMagic = 0x4e564d4c;
  unsigned magic, size;
  pthread_mutex_t mutex;  // robust, for everything below
  std::uint32_t changes;  // a futex: counts changes that waiting calls may wait for

  bool loaded;
  char kernel_version[nvml::kVersionSize];
  unsigned gpu_count;
  unsigned next_serial;
  unsigned long long gpm_samples;  // samples taken so far
  Gpu gpus[kMaxGpus];
  EventQueue sets[kMaxSets];
  Client clients[kMaxClients];
  Function functions[kCallCount];
};

}  // namespace cardcage::fake_nvml
