// What a prepare has changed on the hardware, and unprepare has to undo. It is written into the journal of the claim
// before the hardware is touched, and into its state at the end.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cardcage::nvidia {

struct Changes {
  struct Partition {
    std::string bus_id;  // of the GPU; its UUID cannot be resolved while another GPU is lost
    unsigned profile = 0, start = 0;
    bool switched_mode = false;  // MIG mode was off before
    friend bool operator==(const Partition&, const Partition&) = default;
  };
  std::vector<Partition> partitions;
  std::vector<std::string> time_slices;  // UUIDs of GPUs whose time slice is not the default

  bool empty() const { return partitions.empty() && time_slices.empty(); }
  void add(const Changes& others);
  friend bool operator==(const Changes&, const Changes&) = default;
};

// One line for each change: "partition 0000:3b:00.0 19 0 1", "time-slice GPU-...".
std::string encode(const Changes& changes);
// Ignores lines that a later version has written.
Changes decode_changes(std::string_view text);

}  // namespace cardcage::nvidia
