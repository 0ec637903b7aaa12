#include "host/ledger/health_tables.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "host/core/bounded.h"
#include "host/core/log.h"

namespace cardcage {
namespace {

namespace json = boost::json;

using WallTimes = std::vector<WallTime>;

std::string times_to_json(const WallTimes& times) {
  json::array array;
  for (const WallTime time : times) array.emplace_back(to_ms(time));
  return json::serialize(array);
}

std::optional<WallTimes> times_from_json(std::string_view text) {
  boost::system::error_code error;
  const json::value parsed = json::parse(text, error);
  if (error || !parsed.is_array()) return std::nullopt;
  WallTimes times;
  for (const json::value& time : parsed.get_array()) {
    if (!time.is_int64()) return std::nullopt;
    times.push_back(bounded_wall_time(time.get_int64()));
  }
  return times;
}

// A number beyond the last enumerator becomes the last one.
template <class Enum>
Enum enum_from(std::int64_t number, Enum first, Enum last) {
  return static_cast<Enum>(std::clamp(number, static_cast<std::int64_t>(first), static_cast<std::int64_t>(last)));
}
HealthState state_from(std::int64_t number) { return enum_from(number, HealthState::kUnknown, HealthState::kDegraded); }

CauseRecord cause_from(const sqlite::Statement& row) {
  CauseRecord record{
      .device = {row.text(0), row.text(1)},
      .health = {.state = state_from(row.integer(3)),
                 .reason = row.text(4),
                 .message = row.text(5),
                 .timeout = bounded(row.integer(6), std::chrono::seconds(0), kMaxHealthTimeout),
                 .taint = enum_from(row.integer(7), TaintEffect::kNone, TaintEffect::kInform),
                 .cause = row.text(2),
                 .taint_key = row.text(8),
                 .taint_value = row.text(9),
                 .value = row.real(10)},
      .changed = bounded_wall_time(row.integer(11)),
      .stated = bounded_wall_time(row.integer(12)),
      .relapses = {},
      .quarantined = row.integer(14) != 0,
  };
  if (auto relapses = times_from_json(row.text(13)))
    record.relapses = std::move(*relapses);
  else
    log(LogLevel::kError, "the relapses of a cause are not readable in the ledger; it is kept without them",
        {{"module", record.device.module}, {"device", record.device.id}, {"cause", record.health.cause}});
  return record;
}

}  // namespace

const char* const HealthTables::kSchema =
    "CREATE TABLE health_causes(module TEXT NOT NULL, device TEXT NOT NULL, cause TEXT NOT NULL, state INTEGER NOT "
    "NULL,"
    " reason TEXT NOT NULL, message TEXT NOT NULL, timeout_s INTEGER NOT NULL, taint INTEGER NOT NULL,"
    " taint_key TEXT NOT NULL, taint_value TEXT NOT NULL, value REAL, changed_ms INTEGER NOT NULL,"
    " stated_ms INTEGER NOT NULL, relapses_ms TEXT NOT NULL, quarantined INTEGER NOT NULL,"
    " PRIMARY KEY(module, device, cause)) WITHOUT ROWID;"
    "CREATE TABLE health_cordons(module TEXT NOT NULL, device TEXT NOT NULL, name TEXT NOT NULL,"
    " operator TEXT NOT NULL, reason TEXT NOT NULL, since_ms INTEGER NOT NULL,"
    " PRIMARY KEY(module, device)) WITHOUT ROWID;"
    "CREATE TABLE health_history(id INTEGER PRIMARY KEY AUTOINCREMENT, time_ms INTEGER NOT NULL, kind INTEGER NOT NULL,"
    " module TEXT NOT NULL, device TEXT NOT NULL, name TEXT NOT NULL, cause TEXT NOT NULL, state INTEGER NOT NULL,"
    " reason TEXT NOT NULL, message TEXT NOT NULL, operator TEXT NOT NULL);"
    "CREATE INDEX health_history_by_age ON health_history(time_ms);";

const char* const HealthTables::kResetsSchema =
    "CREATE TABLE IF NOT EXISTS health_resets(module TEXT NOT NULL, device TEXT NOT NULL, time_ms INTEGER NOT NULL,"
    " PRIMARY KEY(module, device, time_ms)) WITHOUT ROWID;";

struct HealthTables::Statements {
  sqlite::Statement put_cause, drop_cause, drop_causes, put_cordon, drop_cordon, put_reset, age_resets, put_event,
      bound_events, age_events;
};

HealthTables::HealthTables(const sqlite::Database& database, HistoryBounds bounds,
                           std::unique_ptr<Statements> statements)
    : database_(&database), bounds_(bounds), statements_(std::move(statements)) {}
HealthTables::HealthTables(HealthTables&&) noexcept = default;
HealthTables::~HealthTables() = default;

Result<HealthTables> HealthTables::open(const sqlite::Database& database, HistoryBounds bounds) {
  sqlite::Compiler compile(database);
  Statements statements{
      .put_cause = compile(
          "INSERT OR REPLACE INTO health_causes(module,device,cause,state,reason,message,timeout_s,taint,taint_key,"
          "taint_value,value,changed_ms,stated_ms,relapses_ms,quarantined) VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"),
      .drop_cause = compile("DELETE FROM health_causes WHERE module=? AND device=? AND cause=?"),
      .drop_causes = compile("DELETE FROM health_causes"),
      .put_cordon = compile(
          "INSERT OR REPLACE INTO health_cordons(module,device,name,operator,reason,since_ms) VALUES(?,?,?,?,?,?)"),
      .drop_cordon = compile("DELETE FROM health_cordons WHERE module=? AND device=?"),
      .put_reset = compile("INSERT OR IGNORE INTO health_resets(module,device,time_ms) VALUES(?,?,?)"),
      .age_resets = compile("DELETE FROM health_resets WHERE time_ms < ?"),
      .put_event =
          compile("INSERT INTO health_history(time_ms,kind,module,device,name,cause,state,reason,message,operator)"
                  " VALUES(?,?,?,?,?,?,?,?,?,?)"),
      .bound_events = compile("DELETE FROM health_history WHERE id <= (SELECT max(id) FROM health_history) - ?"),
      .age_events = compile("DELETE FROM health_history WHERE time_ms < ?")};
  if (compile.failure()) return std::unexpected(*compile.failure());
  return HealthTables(database, bounds, std::make_unique<Statements>(std::move(statements)));
}

Result<LoadedHealth> HealthTables::load() const {
  LoadedHealth loaded;
  auto read = database_->each_row(
      "SELECT module,device,cause,state,reason,message,timeout_s,taint,taint_key,taint_value,value,changed_ms,"
      "stated_ms,relapses_ms,quarantined FROM health_causes",
      [&](const sqlite::Statement& row) { loaded.causes.push_back(cause_from(row)); });
  if (read)
    read = database_->each_row("SELECT module,device,name,operator,reason,since_ms FROM health_cordons",
                               [&](const sqlite::Statement& row) {
                                 loaded.cordons.push_back({.device = {row.text(0), row.text(1)},
                                                           .name = row.text(2),
                                                           .by = row.text(3),
                                                           .reason = row.text(4),
                                                           .since = bounded_wall_time(row.integer(5))});
                               });
  if (read)
    read = database_->each_row(
        "SELECT module,device,time_ms FROM health_resets ORDER BY time_ms", [&](const sqlite::Statement& row) {
          loaded.resets.push_back({{row.text(0), row.text(1)}, bounded_wall_time(row.integer(2))});
        });
  if (!read) return std::unexpected(read.error());
  return loaded;
}

Status HealthTables::apply(const HealthChanges& changes) {
  Status done;
  if (changes.all_causes) done = statements_->drop_causes.run();
  for (const auto& [device, cause, record] : changes.causes) {
    if (!done) return done;
    done = record ? put(*record) : statements_->drop_cause.run(device.module, device.id, cause);
  }
  for (const auto& [device, record] : changes.cordons) {
    if (!done) return done;
    done = record ? put(*record) : statements_->drop_cordon.run(device.module, device.id);
  }
  for (const ResetRecord& record : changes.resets) {
    if (done) done = put(record);
    if (done) done = statements_->age_resets.run(to_ms(record.time - kResetPeriod));
  }
  for (const HealthEvent& event : changes.events)
    if (done) done = note(event);
  if (!done || changes.events.empty()) return done;
  if (auto bounded = statements_->bound_events.run(bounds_.rows); !bounded) return bounded;
  return statements_->age_events.run(to_ms(changes.events.back().time - bounds_.age));
}

Status HealthTables::put(const CauseRecord& record) {
  const Health& health = record.health;
  return statements_->put_cause.run(
      record.device.module, record.device.id, health.cause, static_cast<std::int64_t>(health.state), health.reason,
      health.message, static_cast<std::int64_t>(health.timeout.count()), static_cast<std::int64_t>(health.taint),
      health.taint_key, health.taint_value, health.value, to_ms(record.changed), to_ms(record.stated),
      times_to_json(record.relapses), static_cast<std::int64_t>(record.quarantined));
}

Status HealthTables::put(const CordonRecord& record) {
  return statements_->put_cordon.run(record.device.module, record.device.id, record.name, record.by, record.reason,
                                     to_ms(record.since));
}

Status HealthTables::put(const ResetRecord& record) {
  return statements_->put_reset.run(record.device.module, record.device.id, to_ms(record.time));
}

Status HealthTables::note(const HealthEvent& event) {
  return statements_->put_event.run(to_ms(event.time), static_cast<std::int64_t>(event.kind), event.device.module,
                                    event.device.id, event.name, event.cause, static_cast<std::int64_t>(event.state),
                                    event.reason, event.message, event.by);
}

Result<std::vector<HealthEvent>> HealthTables::history(const HealthQuery& query) const {
  std::vector<HealthEvent> events;
  const auto read = database_->each_row(
      "SELECT time_ms,kind,module,device,name,cause,state,reason,message,operator FROM health_history"
      " WHERE (?1='' OR device=?1 OR name=?1) AND (?2='' OR module=?2) AND time_ms>=?3 ORDER BY id DESC LIMIT ?4",
      [&](const sqlite::Statement& row) {
        events.push_back({.time = bounded_wall_time(row.integer(0)),
                          .kind = enum_from(row.integer(1), HealthEventKind::kBegan, HealthEventKind::kResetFailed),
                          .device = {row.text(2), row.text(3)},
                          .name = row.text(4),
                          .cause = row.text(5),
                          .state = state_from(row.integer(6)),
                          .reason = row.text(7),
                          .message = row.text(8),
                          .by = row.text(9)});
      },
      query.device, query.module, to_ms(query.since), query.limit);
  if (!read) return std::unexpected(read.error());
  return events;
}

}  // namespace cardcage
