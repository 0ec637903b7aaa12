// The record of what is prepared for which claim.
//
// The core owns the live state, all of it in memory: reads never touch the disk. What modules may be at work on is in
// Intents, at once; what is certain is in the ledger's file. Its changes are queued while a transaction is under way
// and go together in the next one, on the writer thread (group commit).
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "host/core/fault_point.h"
#include "host/core/task.h"
#include "host/ledger/intents.h"
#include "host/ledger/ledger_store.h"

namespace cardcage {

struct LedgerOptions {
  std::filesystem::path file;
  std::filesystem::path intents;     // on a tmpfs
  std::filesystem::path cdi_folder;  // what a lost file is rebuilt from
  std::string boot_id;
  HistoryBounds history;
  FaultHook fault;
};

// This boot of the node, /proc/sys/kernel/random/boot_id.
Result<std::string> read_boot_id();

class Ledger {
 public:
  using Claims = std::map<ClaimKey, std::shared_ptr<const ClaimRecord>>;

  // Blocks: for the start. A damaged file is set aside under a name with the time, loudly, and a new one is filled
  // from our CDI files; so is a missing one. kFailedPrecondition for a file of a newer cardcage, kAborted while
  // another process has it.
  static Result<std::unique_ptr<Ledger>> open(asio::io_context& core, LedgerOptions options);
  // Ends what is under way. Nobody may wait for a change any more.
  ~Ledger();
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;

  // [core]
  const Claims& claims() const { return claims_; }
  std::shared_ptr<const ClaimRecord> find(const ClaimKey& key) const;
  // Claims that hold a device with this id of the module, or of this name of the driver (in whatever pool).
  std::vector<std::shared_ptr<const ClaimRecord>> holders(const std::string& module, const std::string& device_id,
                                                          const std::string& driver, const std::string& device) const;
  const std::string& boot_id() const { return options_.boot_id; }

  // [core] Before a module is asked for anything: the claim is in doubt from now on, also for whoever comes after kill
  // -9. It is until the next change of it is written.
  Status intend(ClaimRecord record);

  // [core] Changes begin at the call and not when the task is awaited. The callers take care that there is one change
  // of a claim at a time. A put counts from the call on, so that a device is held at once, and is taken back if
  // it fails; a release counts when it is written. kResourceExhausted when the disk is full; later changes try again.
  Task<Status> put(ClaimRecord record);
  Task<Status> release(ClaimKey key, WallTime when, Durability durability = Durability::kNode);
  // A put that nobody waits for: it goes with the next transaction or makes one soon, and does not survive the death of
  // the node before the kernel has written it. One that fails counts all the same, until this process ends.
  // `left` goes to the history: holders of a device that are not in the record any more.
  void note(ClaimRecord record, std::vector<HistoryEntry> left = {});
  Task<Result<std::vector<HistoryEntry>>> history(HistoryQuery query);

  // [core] For status and metrics.
  bool rebuilt() const { return rebuilt_; }                               // at this start, from CDI files
  const std::optional<Error>& last_error() const { return last_error_; }  // of the last transaction
  std::uint64_t transactions() const { return transactions_; }

 private:
  struct Waiting {
    LedgerChange change;
    std::shared_ptr<const ClaimRecord> before;
    std::optional<OneShot<Status>> done;  // nobody waits without it
  };
  using DeviceKey = std::pair<std::string, std::string>;

  Ledger(asio::io_context& core, LedgerOptions options, std::unique_ptr<LedgerStore> store, Intents intents);
  void take_intents();
  void set(const ClaimKey& key, std::shared_ptr<const ClaimRecord> record);
  std::shared_ptr<const ClaimRecord> replace(ClaimRecord record);
  Task<Status> enqueue(LedgerChange change, std::shared_ptr<const ClaimRecord> before);
  void write_next();
  void settle(const Waiting& one, const Status& written);

  asio::io_context& core_;
  LedgerOptions options_;
  std::unique_ptr<LedgerStore> store_;  // the writer thread's after open()
  Intents intents_;
  Claims claims_;
  std::map<DeviceKey, std::set<ClaimKey>> holders_;
  std::vector<Waiting> waiting_;
  bool writing_ = false;
  asio::steady_timer notes_;  // what is waiting goes now
  std::uint64_t transactions_ = 0;
  std::optional<Error> last_error_;
  bool rebuilt_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // handlers on the core may outlive us
  asio::thread_pool writer_{1};
};

}  // namespace cardcage
