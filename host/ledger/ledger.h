// The records of claims with their prepared devices, and of the health of devices.
//
// The core owns the current state, all of it in memory: reads never touch the disk. A change of a claim is in Intents
// at once, where it survives this process, and soon afterwards in the ledger's file, where it survives the node. No
// caller waits for the file: the changes of some milliseconds share a transaction on the writer thread.
#pragma once

#include <boost/asio/thread_pool.hpp>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <ranges>
#include <string>
#include <vector>

#include "host/core/backoff.h"
#include "host/core/delayed_call.h"
#include "host/core/fault_point.h"
#include "host/core/task.h"
#include "host/ledger/device_index.h"
#include "host/ledger/health_records.h"
#include "host/ledger/intents.h"
#include "host/ledger/ledger_store.h"

namespace cardcage {

class ChangeCounters;

struct LedgerOptions {
  std::filesystem::path file;
  std::filesystem::path intents;     // on a tmpfs
  std::filesystem::path cdi_folder;  // source for the rebuild of a lost file
  std::string boot_id;
  HistoryBounds history;
  HistoryBounds health_history = kHealthHistory;
  FaultHook fault;
  ChangeCounters* changes = nullptr;  // gets the changes of claims and of the history
};

// Reads /proc/sys/kernel/random/boot_id.
Result<std::string> read_boot_id();

class Ledger {
 public:
  using Claims = std::map<ClaimKey, std::shared_ptr<const ClaimRecord>>;

  // Blocks, so it is for the start. Sets a damaged file aside and rebuilds it from our CDI files, as it does a missing
  // one. kFailedPrecondition for a file of a newer cardcage, kAborted while another process has it. The clock outlives
  // the ledger.
  static Result<std::unique_ptr<Ledger>> open(asio::io_context& core, Clock& clock, LedgerOptions options);
  // Writes the queued changes. No caller waits for a change any more.
  ~Ledger();
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;

  // [core]
  const Claims& claims() const { return claims_; }
  // Returns the claims of a driver or resource.
  auto claims_of(const std::string& driver) const {
    return std::ranges::subrange(claims_.lower_bound({driver, ""}), claims_.end()) |
           std::views::take_while([driver](const auto& claim) { return claim.first.driver == driver; });
  }
  std::shared_ptr<const ClaimRecord> find(const ClaimKey& key) const;
  // Claims whose records have the device: by the module's id for it, or by its name in the module or at the driver, in
  // any pool. host/claim/conflicts.h decides whether they have the hardware.
  DeviceIndex::Records holders(const std::string& module, const std::string& device_id, const std::string& driver,
                               const std::string& device) const {
    return by_device_.find(module, device_id, driver, device);
  }
  const std::string& boot_id() const { return options_.boot_id; }

  // [core] Call it before a module call for the claim. The claim is in doubt, even after a kill -9, until put() or
  // release(). Fails for a further claim while there is a refusal().
  Status intend(ClaimRecord record);
  // [core] Writes the file of Intents again if it was removed.
  Status restore_intents() { return intents_.restore(); }

  // [core] A module holds the claim, or has released it. Both are visible, and survive this process, when they return.
  // They reach the file within some milliseconds, and the disk, too, with Durability::kNode. While the file cannot be
  // written, they wait and are tried again; see refusal().
  Status put(ClaimRecord record, Durability durability = Durability::kNode);
  Status release(const ClaimKey& key, WallTime when, Durability durability = Durability::kNode);
  // Stores the users of a held device; the kubelet tells them again if they are lost. Only the file has them, as soon
  // as it has a put(). `left` are former holders, which go to the history.
  void note(ClaimRecord record, std::vector<HistoryEntry> left = {});
  Task<Result<std::vector<HistoryEntry>>> history(HistoryQuery query);

  // [core] Written with the same transactions, but a failure here does not hold up changes of claims.
  HealthRecords& health() { return health_; }

  // [core] For status and metrics.
  bool rebuilt() const { return rebuilt_; }  // from CDI files, at this start
  // The error of the last transaction if it failed, or of one that has run for seconds: then the disk hangs.
  std::optional<Error> last_error() const;
  // The reason why no further claim is prepared: the disk hangs, or too much waits for it. Known claims can still be
  // released.
  std::optional<Error> refusal() const;
  std::uint64_t transactions() const { return transactions_; }
  std::size_t unwritten() const;  // number of changes

 private:
  friend class HealthRecords;
  // A transaction. The writer thread and the core share it.
  struct Batch {
    Ledger* ledger;  // [core] null once the ledger is gone
    Instant begun;
    std::vector<LedgerChange> changes;
    std::shared_ptr<const HealthChanges> health;
  };
  struct Written {
    Status claims, health;
  };

  Ledger(asio::io_context& core, Clock& clock, LedgerOptions options, std::unique_ptr<LedgerStore> store,
         Intents intents, LoadedHealth health);
  void adopt_intents();
  void set(const ClaimKey& key, std::shared_ptr<const ClaimRecord> record);
  void set(std::shared_ptr<const ClaimRecord> record);
  void enqueue(LedgerChange change);
  void write_now();
  void write_soon();
  void write_next();
  Written write(const Batch& batch) const;
  // Runs `query` on the writer thread, after the transactions with the changes that are known now: the one in progress,
  // and one for the changes that wait behind it. Fails when the disk takes too long.
  template <class T>
  Task<Result<T>> read(std::function<Result<T>(const LedgerStore&)> query) {
    if (hung()) co_return hang();
    const Instant deadline = clock_.now() + kHung;
    if (writing_) {
      auto before = on_writer<bool>([](const LedgerStore&) { return true; }, deadline);
      if (!co_await std::move(before)) co_return hang();
    }
    write_now();
    auto reading = on_writer<Result<T>>(std::move(query), deadline);
    auto found = co_await std::move(reading);
    if (!found) co_return hang();
    co_return *std::move(found);
  }
  template <class T>
  Task<std::optional<T>> on_writer(std::function<T(const LedgerStore&)> work, Instant deadline) {
    const OneShot<T> done(core_);
    asio::post(writer_, [this, done, work = std::move(work)] { done.set(work(*store_)); });
    co_return co_await done.wait_until(clock_, deadline);
  }
  void finish(const Batch& batch, const Written& written);
  void settle(const Batch& written);
  bool hung() const { return writing_ && clock_.now() - writing_->begun >= kHung; }
  std::unexpected<Error> hang() const;
  void watch_disk();

  // A write that takes longer will not end soon. A disk that is only busy takes less.
  static constexpr Duration kHung = std::chrono::seconds(5);

  asio::io_context& core_;
  Clock& clock_;
  LedgerOptions options_;
  std::unique_ptr<LedgerStore> store_;  // used by the writer thread only, after open()
  Intents intents_;
  Claims claims_;
  DeviceIndex by_device_;
  HealthRecords health_;
  std::vector<LedgerChange> waiting_;
  std::shared_ptr<Batch> writing_;  // null while the writer is idle
  DelayedCall writing_soon_, hung_soon_;
  Backoff retry_;
  std::uint64_t transactions_ = 0;
  std::optional<Error> last_error_;
  bool rebuilt_ = false;
  asio::thread_pool writer_{1};
};

}  // namespace cardcage
