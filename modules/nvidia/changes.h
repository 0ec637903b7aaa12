// The changes that a prepare has made to the hardware and that unprepare has to undo. They are written into the journal
// of the claim before the hardware is touched, and into its state at the end.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cardcage::nvidia {

struct Changes {
  struct Partition {
    std::string bus_id;  // the GPU's; its UUID cannot be resolved while another GPU is lost
    unsigned profile = 0, start = 0;
    friend bool operator==(const Partition&, const Partition&) = default;
  };
  struct ComputeMode {
    std::string bus_id;
    unsigned before = 0;  // nvml::ComputeMode
    friend bool operator==(const ComputeMode&, const ComputeMode&) = default;
  };
  std::vector<Partition> partitions;
  std::vector<std::string> time_slices;  // UUIDs of GPUs whose time slice is not the default
  std::vector<ComputeMode> compute_modes;
  bool mps = false;                     // a control daemon runs
  std::vector<std::string> functions;   // PCI functions with another driver, by bus id
  std::vector<std::string> persistent;  // bus ids of GPUs whose persistence mode was on

  bool empty() const { return *this == Changes{}; }
  // Keeps a mode that `this` already has: it is the mode from before the first change.
  void add(const Changes& others);
  friend bool operator==(const Changes&, const Changes&) = default;
};

// One line for each change: "partition 0000:3b:00.0 19 0", "time-slice GPU-...", "compute-mode 0000:3b:00.0 0",
// "mps", "function 0000:3b:00.0", "persistent 0000:3b:00.0".
std::string encode(const Changes& changes);
// Ignores lines that a later version wrote.
Changes decode_changes(std::string_view text);

}  // namespace cardcage::nvidia
