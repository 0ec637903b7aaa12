// The claims that are in doubt: a module may be preparing or releasing their devices.
//
// An intent has to outlive this process but not the node, whose boot resets the hardware. So it goes to a file on a
// tmpfs, which the core writes by itself within microseconds, without waiting for a disk or another thread.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "host/core/unique_fd.h"
#include "host/ledger/record.h"

namespace cardcage {

// [core] A journal: the boot ID, then a line for each claim that comes into doubt or leaves it. A line that a crash has
// cut off does not count.
class Intents {
 public:
  using Records = std::map<ClaimKey, std::shared_ptr<const ClaimRecord>>;

  // Creates the folder of the file. kAborted while another process uses it. Sets a damaged file aside under a name with
  // the time `now`; its readable lines count.
  static Result<Intents> open(std::filesystem::path file, std::string boot_id, WallTime now);

  const Records& records() const { return records_; }
  // Replaces the claim's earlier intent.
  Status set(std::shared_ptr<const ClaimRecord> record);
  // The ledger says all about the claim, or the claim is gone.
  void clear(const ClaimKey& key);
  // Writes the file again if somebody removed or replaced it, with its folder if need be. kAborted if another process
  // uses a new folder of that name.
  Status restore();

 private:
  Intents(std::filesystem::path file, std::string boot_id) : file_(std::move(file)), boot_id_(std::move(boot_id)) {}
  Status lock_folder();
  Status read(WallTime now);
  bool read_line(std::string_view line);
  Status append(std::string_view line);
  Status rewrite();

  std::filesystem::path file_;
  std::string boot_id_;
  UniqueFd lock_;  // on the folder, because rewrite() replaces the file
  UniqueFd journal_;
  std::size_t size_ = 0, rewritten_size_ = 0;
  Records records_;
};

}  // namespace cardcage
