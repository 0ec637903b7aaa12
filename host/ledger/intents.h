// What modules may be at work on: the claims that are in doubt.
//
// An intent has to outlive this process and not the node, whose boot resets the hardware. So it goes to a file on a
// tmpfs, which the core writes by itself within microseconds: no disk lets it wait, and it waits for no other thread.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "host/core/unique_fd.h"
#include "host/ledger/record.h"

namespace cardcage {

// [core] A journal: the boot, then a line for each claim that comes into doubt or is out of it. What a crash has cut
// off at its end never came to be.
class Intents {
 public:
  // Makes the file's folder. kAborted while another process has it. A damaged file is set aside, loudly; what can be
  // read of it counts.
  static Result<Intents> open(std::filesystem::path file, std::string boot_id);

  // What the last run left, for the start.
  std::vector<ClaimRecord> all() const;
  // Replaces what there was of the claim.
  Status set(const ClaimRecord& record);
  // The claim is in the ledger as it is, or gone.
  void clear(const ClaimKey& key);

 private:
  Intents(std::filesystem::path file, std::string boot_id, UniqueFd lock)
      : file_(std::move(file)), boot_id_(std::move(boot_id)), lock_(std::move(lock)) {}
  Status read();
  bool take(const std::string& line);
  Status set_aside() const;
  Status append(std::string_view line);
  Status rewrite();

  std::filesystem::path file_;
  std::string boot_id_;
  UniqueFd lock_;  // of the folder: the file is replaced now and then
  UniqueFd journal_;
  std::size_t size_ = 0;
  std::map<ClaimKey, std::string> open_;  // the line of each
};

}  // namespace cardcage
