// The ledger's SQLite file: schema, transactions, history. Blocking; one thread at a time.
//
// The file has a write-ahead log. A plain commit is in the kernel's page cache and survives a crash of this process. A
// durable one is also synced, with all commits before it, and survives a crash of the node.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "host/ledger/health_tables.h"
#include "host/ledger/history.h"
#include "host/ledger/record.h"
#include "host/ledger/sqlite.h"

namespace cardcage {

enum class Durability { kProcess, kNode };

// Migrates a file from one schema to the next.
struct SchemaStep {
  const char* statements;
  // The oldest schema whose daemons can still use the file. A step that only adds a table, or a column with a default,
  // leaves it as it was before, so that a rollback needs nothing.
  int min_reader;
};

// Stores one claim, or moves it to the history.
struct LedgerChange {
  std::shared_ptr<const ClaimRecord> record;
  std::optional<WallTime> released;  // if set, the claim moves to the history
  Durability durability = Durability::kProcess;
  std::vector<HistoryEntry> left = {};              // holders that gave back a device that others still hold
  std::shared_ptr<const ClaimRecord> settles = {};  // the record in Intents; null if it is not there
};

struct LoadedClaims {
  std::vector<ClaimRecord> readable;
  std::set<ClaimKey> damaged;
};

class LedgerStore {
 public:
  // Creates or migrates the file. kDataLoss if it is damaged or not ours, kFailedPrecondition if it is from a newer
  // cardcage and not usable by this one, kAborted while another process uses it.
  static Result<std::unique_ptr<LedgerStore>> open(const std::filesystem::path& file, HistoryBounds bounds,
                                                   HistoryBounds health_bounds = kHealthHistory);

  // True if the file was new or empty.
  bool fresh() const { return fresh_; }
  Result<LoadedClaims> load() const;
  // Moves the rows of these claims to a table of their own, for people to look at.
  Status quarantine(const std::set<ClaimKey>& claims);
  const HealthTables& health() const { return *health_; }
  // Writes all changes or none, in one transaction, which is durable if any change is. `before_commit` is for tests.
  Status write(std::span<const LedgerChange> changes, const HealthChanges& health = {},
               const std::function<void()>& before_commit = {});
  Result<std::vector<HistoryEntry>> history(const HistoryQuery& query) const;
  // Moves the write-ahead log into the file if it is long. Call it when no caller waits.
  void tidy();

  // Applies the missing `steps`, each in a transaction. The schema's version counts the applied ones; a file may have
  // more of them than there are here.
  static Status migrate(const sqlite::Database& database, std::span<const SchemaStep> steps);

 private:
  struct Statements;
  LedgerStore(std::unique_ptr<sqlite::Database> database, HistoryBounds bounds);
  Status compile(HistoryBounds health_bounds);
  Status put(const ClaimRecord& record);
  Status release(const ClaimRecord& record, WallTime when);
  Status note(const HistoryEntry& entry);
  Status apply(std::span<const LedgerChange> changes);
  Status set_durability(Durability durability);

  std::unique_ptr<sqlite::Database> database_;
  std::unique_ptr<Statements> statements_;
  std::optional<HealthTables> health_;
  HistoryBounds bounds_;
  bool fresh_ = false;
  std::optional<Durability> durability_;

 public:
  ~LedgerStore();
};

}  // namespace cardcage
