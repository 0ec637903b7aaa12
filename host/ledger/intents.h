// What the ledger's file does not say yet: which claims are in doubt, because a module may be preparing or releasing
// their devices, and how such calls ended.
//
// The kubelet gets its response once this is written. It has to outlive this process but not the node, whose boot
// resets the hardware. So it goes to a file on a tmpfs, which the core writes by itself within microseconds, without
// waiting for a disk or another thread.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "host/core/unique_fd.h"
#include "host/ledger/record.h"

namespace cardcage {

// [core] A journal: the boot ID, then a line for each change. A line that a crash has cut off does not count.
class Intents {
 public:
  struct Entry {
    std::shared_ptr<const ClaimRecord> record;
    std::optional<WallTime> released;  // when the claim gave its devices back
  };
  using Entries = std::map<ClaimKey, Entry>;

  // Creates the folder of the file. kAborted while another process uses it. Sets a damaged file aside under a name with
  // the time `now`; its readable lines count.
  static Result<Intents> open(std::filesystem::path file, std::string boot_id, WallTime now);

  const Entries& entries() const { return entries_; }
  // Replaces the claim's earlier entry.
  Status set(std::shared_ptr<const ClaimRecord> record);
  Status set_released(std::shared_ptr<const ClaimRecord> record, WallTime when);
  // The ledger's file says all about the claim.
  void clear(const ClaimKey& key);
  // Writes the file again if somebody removed or replaced it, with its folder if need be. kAborted if another process
  // uses a new folder of that name.
  Status restore();

 private:
  Intents(std::filesystem::path file, std::string boot_id) : file_(std::move(file)), boot_id_(std::move(boot_id)) {}
  Status lock_folder();
  Status read(WallTime now);
  bool read_line(std::string_view line);
  Status put(Entry entry);
  Status append(std::string_view line);
  Status rewrite();

  std::filesystem::path file_;
  std::string boot_id_;
  UniqueFd lock_;  // on the folder, because rewrite() replaces the file
  UniqueFd journal_;
  std::size_t size_ = 0, rewritten_size_ = 0;
  Entries entries_;
};

}  // namespace cardcage
