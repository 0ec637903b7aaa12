// What a GPU says of itself, as far as its health depends on it.
#pragma once

#include <optional>
#include <string>

#include "modules/nvidia/nvml/library.h"

namespace cardcage::nvidia {

// Nothing for what the GPU or the driver cannot tell.
struct Readings {
  std::optional<unsigned> recovery_action;                        // nvml::RecoveryAction, since driver 565
  std::optional<unsigned long long> uncorrectable_errors;         // since the last reset
  std::optional<unsigned long long> remap_pending, remap_failed;  // rows of memory; nothing before Ampere
  bool sram_exceeded = false;                                     // so many errors of the SRAM that it has to go
  std::optional<unsigned long long> remapped;                     // rows that were replaced after uncorrectable errors
  std::optional<unsigned long long> retirement_pending;           // pages of memory, before Ampere
  std::optional<unsigned> link_width;                             // PCIe lanes
  std::optional<int> temperature;                                 // in degrees Celsius
  std::optional<int> margin;                                      // degrees left before it slows down
  std::optional<int> shutdown_margin;                             // the margin at which it switches itself off
  std::optional<int> shutdown, slowdown, hottest;                 // the same as temperatures, where there is no margin
  std::optional<double> power;                                    // in watts
  std::optional<unsigned long long> clock_reasons;                // nvml::kReason...
  std::optional<unsigned> link_generation;                        // of PCIe
  bool busy = false;                                              // it computes: its PCIe link is not asleep
  std::optional<unsigned> replay_count;                           // of PCIe packets, since the driver was loaded
  unsigned nvlinks = 0;                                           // that are up
  std::string fabric_problem;                                     // empty = none

  // Known from events, or from a comparison with earlier readings.
  bool uncontained = false;                      // the memory errors did not only end the program that met them
  std::optional<double> replays;                 // in a minute
  unsigned most_nvlinks = 0;                     // that have been up at a time
  unsigned most_lanes = 0, best_generation = 0;  // that the PCIe link has had since the first look
};

// Throws nvml::Failure if the GPU does not respond.
Readings read_health(const nvml::Library& nvml, nvml::Device device, const std::string& bus_id);

// In degrees Celsius.
std::optional<int> read_temperature(const nvml::Library& nvml, nvml::Device device);

}  // namespace cardcage::nvidia
