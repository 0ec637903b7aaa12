// The room on the file system of node.state_dir.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>

#include "host/core/clock.h"
#include "host/model/change_counters.h"

namespace cardcage {

struct DiskSpace {
  std::uint64_t free = 0;  // bytes that the daemon may still write
  std::uint64_t used = 0;  // bytes of the files in the folder
  friend bool operator==(const DiskSpace&, const DiskSpace&) = default;
};

// Blocks while the disk does.
std::optional<DiskSpace> measure_disk(const std::filesystem::path& folder);

// [core] Measures on a thread of its own, since a disk may hang.
class StateDisk : public std::enable_shared_from_this<StateDisk> {
 public:
  // `changes` outlives this object and its tasks.
  StateDisk(asio::io_context& core, Clock& clock, std::filesystem::path folder, ChangeCounters& changes)
      : core_(core), clock_(clock), folder_(std::move(folder)), changes_(changes) {}

  // The last figures; nothing until there are some. Begins to measure again if they are older than half a minute.
  std::optional<DiskSpace> space();

 private:
  static Task<void> measure(std::shared_ptr<StateDisk> self);

  asio::io_context& core_;
  Clock& clock_;
  const std::filesystem::path folder_;
  ChangeCounters& changes_;
  std::optional<DiskSpace> space_;
  Instant due_ = Instant::min();
  bool measuring_ = false;
};

}  // namespace cardcage
