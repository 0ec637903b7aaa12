// The ledger's SQLite file: schema, transactions, history. Blocking; one thread at a time.
//
// Write-ahead log. A plain commit is in the kernel's page cache and survives the death of this process; a durable one
// is also synced, with everything before it, and survives the death of the node.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "host/ledger/history.h"
#include "host/ledger/record.h"
#include "host/ledger/sqlite.h"

namespace cardcage {

enum class Durability { kProcess, kNode };

// One claim's row put, or moved to the history.
struct LedgerChange {
  std::shared_ptr<const ClaimRecord> record;
  std::optional<WallTime> released;  // set: the row goes
  Durability durability = Durability::kProcess;
  std::vector<HistoryEntry> left = {};  // holders of a replicated device that the others stay behind
};

class LedgerStore {
 public:
  // Creates or migrates the file. kDataLoss for one that is damaged or not ours, kFailedPrecondition for one of a newer
  // cardcage, kAborted while another process has it.
  static Result<std::unique_ptr<LedgerStore>> open(const std::filesystem::path& file, HistoryBounds bounds);

  // Whether the file was new or empty.
  bool fresh() const { return fresh_; }
  Result<std::vector<ClaimRecord>> load() const;
  // All changes in one transaction, durable if any of them is: all or none. `before_commit` is for tests.
  Status write(std::span<const LedgerChange> changes, const std::function<void()>& before_commit = {});
  Result<std::vector<HistoryEntry>> history(const HistoryQuery& query) const;
  // Moves the write-ahead log into the file once it is long: for when nobody waits.
  void tidy();

  // Applies what is missing of `steps`, each in one transaction; the schema version is how many were applied.
  static Status migrate(const sqlite::Database& database, std::span<const char* const> steps);

 private:
  struct Statements;
  LedgerStore(std::unique_ptr<sqlite::Database> database, HistoryBounds bounds);
  Status compile();
  Status put(const ClaimRecord& record);
  Status release(const ClaimRecord& record, WallTime when);
  Status note(const HistoryEntry& entry);
  Status apply(std::span<const LedgerChange> changes);
  Status set_durability(Durability durability);

  std::unique_ptr<sqlite::Database> database_;
  std::unique_ptr<Statements> statements_;
  HistoryBounds bounds_;
  bool fresh_ = false;
  std::optional<Durability> durability_;

 public:
  ~LedgerStore();
};

}  // namespace cardcage
