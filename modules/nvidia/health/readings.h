// The readings of a GPU that decide about its health.
#pragma once

#include <optional>
#include <string>

#include "modules/nvidia/nvml/library.h"

namespace cardcage::nvidia {

// A value is empty if the GPU or the driver does not report it.
struct Readings {
  std::optional<unsigned> recovery_action;                        // nvml::RecoveryAction, since driver 565
  std::optional<unsigned long long> uncorrectable_errors;         // since the last reset
  std::optional<unsigned long long> remap_pending, remap_failed;  // rows of memory; nothing before Ampere
  bool sram_exceeded = false;                                     // the SRAM has too many errors: replace the GPU
  std::optional<unsigned long long> remapped;                     // rows that were replaced after uncorrectable errors
  std::optional<unsigned long long> retirement_pending;           // pages of memory, before Ampere
  std::optional<unsigned> link_width;                             // PCIe lanes
  std::optional<int> temperature;                                 // in degrees Celsius
  std::optional<int> margin;                                      // degrees Celsius left before the GPU slows down
  std::optional<int> shutdown_margin;                             // the margin at which the GPU switches itself off
  std::optional<int> shutdown, slowdown, hottest;                 // the same as temperatures, for GPUs without margins
  std::optional<double> power;                                    // in watts
  std::optional<unsigned long long> clock_reasons;                // nvml::kReason...
  std::optional<unsigned> link_generation;                        // PCIe generation
  bool busy = false;                                              // the GPU computes: its PCIe link is not asleep
  std::optional<unsigned> replay_count;  // PCIe packets that were replayed since the driver was loaded
  unsigned nvlinks = 0;                  // links that are up
  std::string fabric_problem;            // empty = none

  // Known from events, or from a comparison with earlier readings.
  bool uncontained = false;                      // memory errors reached more than the program that met them
  std::optional<double> replays;                 // per minute
  unsigned most_nvlinks = 0;                     // the most that were up at a time
  unsigned most_lanes = 0, best_generation = 0;  // the best of the PCIe link since the first look
};

// Throws nvml::Failure if the GPU does not respond.
Readings read_health(const nvml::Library& nvml, nvml::Device device, const std::string& bus_id);

// In degrees Celsius.
std::optional<int> read_temperature(const nvml::Library& nvml, nvml::Device device);

}  // namespace cardcage::nvidia
