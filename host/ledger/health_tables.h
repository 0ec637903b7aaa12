// The tables of the ledger's file about the health of devices: causes, cordons, resets, and the history. Blocking; one
// thread at a time.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/ledger/history.h"
#include "host/ledger/sqlite.h"
#include "host/model/health_record.h"

namespace cardcage {

// The content of one transaction.
struct HealthChanges {
  struct Cause {
    DeviceKey device;
    std::string cause;
    std::optional<CauseRecord> record;  // nothing = the cause is forgotten
  };
  struct Cordon {
    DeviceKey device;
    std::optional<CordonRecord> record;
  };
  bool all_causes = false;  // `causes` replace all causes in the file
  std::vector<Cause> causes;
  std::vector<Cordon> cordons;
  std::vector<ResetRecord> resets;
  std::vector<HealthEvent> events;
  bool worse = false;  // a cause is worse than the disk knows
  bool empty() const { return !all_causes && causes.empty() && cordons.empty() && resets.empty() && events.empty(); }
  // True if a crash of the node must not lose the changes.
  bool durable() const { return worse || !cordons.empty() || !resets.empty(); }
};

struct LoadedHealth {
  std::vector<CauseRecord> causes;
  std::vector<CordonRecord> cordons;
  std::vector<ResetRecord> resets;
};

constexpr HistoryBounds kHealthHistory{.rows = 10'000, .age = std::chrono::hours(30 * 24)};

class HealthTables {
 public:
  // The steps of the ledger's schema that add the tables, and the one of resets.
  static const char* const kSchema;
  static const char* const kResetsSchema;

  // Fails if the database lacks a table. The database outlives this.
  static Result<HealthTables> open(const sqlite::Database& database, HistoryBounds bounds);
  HealthTables(HealthTables&&) noexcept;
  ~HealthTables();

  Result<LoadedHealth> load() const;
  // Writes within the caller's transaction.
  Status apply(const HealthChanges& changes);
  Result<std::vector<HealthEvent>> history(const HealthQuery& query) const;

 private:
  struct Statements;
  HealthTables(const sqlite::Database& database, HistoryBounds bounds, std::unique_ptr<Statements> statements);
  Status put(const CauseRecord& record);
  Status put(const CordonRecord& record);
  Status put(const ResetRecord& record);
  Status note(const HealthEvent& event);

  const sqlite::Database* database_;
  HistoryBounds bounds_;
  std::unique_ptr<Statements> statements_;
};

}  // namespace cardcage
