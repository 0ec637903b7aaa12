// What a GPU says of itself, as far as its health depends on it, and the rules that judge it.
#pragma once

#include <cardcage/sdk.hpp>
#include <optional>
#include <span>
#include <string>

#include "modules/nvidia/nvml/library.h"

namespace cardcage::nvidia {

// Nothing for what the GPU or the driver cannot tell.
struct Readings {
  std::optional<unsigned> recovery_action;                        // nvml::RecoveryAction, since driver 565
  std::optional<unsigned long long> uncorrectable_errors;         // since the last reset
  std::optional<unsigned long long> remap_pending, remap_failed;  // rows of memory
  std::optional<unsigned long long> retirement_pending;           // pages of memory, before Ampere
  std::optional<unsigned> link_width, max_link_width;             // PCIe lanes
  std::optional<int> margin;                                      // degrees left before it slows down
  std::optional<unsigned long long> clock_reasons;                // nvml::kReason...
  std::optional<unsigned> link_generation, max_link_generation;   // of PCIe
  bool busy = false;                                              // it computes: its PCIe link is not asleep
  unsigned long long replays = 0;                                 // of PCIe packets since the last look
  unsigned nvlinks = 0, most_nvlinks = 0;                         // that are up, and that have been up at a time
  std::string fabric_problem;                                     // empty = none
};

// Throws nvml::Failure if the GPU does not respond.
Readings read_health(const nvml::Library& nvml, nvml::Device device, const std::string& bus_id);

// One thing that can be wrong. Rules of the same cause are in the order of their weight: the first that applies counts.
struct Rule {
  const char *cause, *reason;
  bool (*test)(const Readings& now);
  std::string (*describe)(const Readings& now);
  int hold;           // how many looks in a row it must apply before it counts, and not apply before it is over
  bool bad;           // the device must not be used; otherwise it is only marked
  const char* taint;  // the key
};
std::span<const Rule> health_rules();

}  // namespace cardcage::nvidia
