// Changes that are not in the ledger's file yet: the claims in doubt, because a module may be preparing or releasing
// their devices, and the outcomes of such calls.
//
// The kubelet gets its response once a change is written here. The change has to outlive this process but not the node,
// whose boot resets the hardware. So it goes to a file on a tmpfs, which the core writes by itself within microseconds,
// without waiting for a disk or another thread.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/core/unique_fd.h"
#include "host/ledger/record.h"

namespace cardcage {

// [core] A journal: the boot ID, then a line for each change. A line that a crash has cut off does not count.
class Intents {
 public:
  struct Entry {
    std::shared_ptr<const ClaimRecord> record;
    std::optional<WallTime> released = {};  // the time when the claim gave its devices back
    std::size_t bytes = 0;                  // size of its line
  };
  using Entries = std::map<ClaimKey, Entry>;

  // Creates the folder of the file. kAborted while another process uses it. Sets a damaged file aside under a name with
  // the time `now`; its readable lines count. A file of any size can be read: it was written by an earlier daemon.
  static Result<Intents> open(std::filesystem::path file, std::string boot_id, WallTime now);

  const Entries& entries() const { return entries_; }
  // The size of a file with nothing but the entries. The file has at most twice as much, and 1 MiB.
  std::size_t bytes() const { return bytes_; }
  // Replaces the claim's earlier entry.
  Status set(std::shared_ptr<const ClaimRecord> record);
  Status set_released(std::shared_ptr<const ClaimRecord> record, WallTime when);
  // Removes claims whose changes are all in the ledger's file.
  void clear(const std::vector<ClaimKey>& claims);
  // Writes the file again if it was removed or replaced, with its folder if need be. kAborted if another process uses a
  // new folder of that name.
  Status restore();

 private:
  // The journal without the lines of settled claims, while it is being written.
  struct Successor {
    UniqueFd file;
    std::size_t size = 0;
    std::optional<ClaimKey> last;  // entries up to this one are in it
    bool complete = false;
  };

  Intents(std::filesystem::path file, std::string boot_id);
  Status lock_folder();
  Result<bool> read(WallTime now);
  bool read_line(std::string_view line);
  Status start_journal(bool readable);
  void set_entry(const ClaimKey& key, Entry entry);
  void remove_entry(const ClaimKey& key);
  Status put(Entry entry);
  Status append(std::string_view line);
  void shorten(std::string_view line);
  Status begin_successor();
  Status copy_entries(std::size_t budget);
  Status take_successor();
  void give_up_successor();
  Status rewrite();

  std::filesystem::path file_, successor_file_;
  std::string boot_id_;
  UniqueFd lock_;  // on the folder, because a rewrite replaces the file
  UniqueFd journal_;
  std::size_t size_ = 0, shorten_above_ = 0, bytes_ = 0;
  std::optional<Successor> successor_;
  Entries entries_;
};

}  // namespace cardcage
