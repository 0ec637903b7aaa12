#include "host/ledger/ledger_store.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <map>

#include "host/core/bounded.h"
#include "host/core/file.h"
#include "host/core/unique_fd.h"

namespace cardcage {
namespace {

// Step N migrates a file from version N to N + 1. Never change a released step: add another. Versions up to 3 named no
// columns when they wrote, so a step that adds a column to a table needs a reader of version 4.
const SchemaStep kSchema[] = {
    {"CREATE TABLE claims(driver TEXT NOT NULL, uid TEXT NOT NULL, namespace TEXT NOT NULL, name TEXT NOT NULL,"
     " phase INTEGER NOT NULL, boot_id TEXT NOT NULL, begun_ms INTEGER NOT NULL, prepared_ms INTEGER NOT NULL,"
     " PRIMARY KEY(driver, uid));"
     "CREATE TABLE parts(driver TEXT NOT NULL, uid TEXT NOT NULL, position INTEGER NOT NULL, module TEXT NOT NULL,"
     " content TEXT NOT NULL, state BLOB NOT NULL, state_version INTEGER NOT NULL,"
     " PRIMARY KEY(driver, uid, position));"
     "CREATE TABLE history(id INTEGER PRIMARY KEY AUTOINCREMENT, driver TEXT NOT NULL, uid TEXT NOT NULL,"
     " namespace TEXT NOT NULL, name TEXT NOT NULL, module TEXT NOT NULL, pool TEXT NOT NULL, device TEXT NOT NULL,"
     " request TEXT NOT NULL, share_id TEXT NOT NULL, prepared_ms INTEGER NOT NULL, released_ms INTEGER NOT NULL);"
     "CREATE INDEX history_by_age ON history(released_ms);",
     1},
    // WITHOUT ROWID stores the rows in the index of the key: a change touches half the pages, each written twice.
    {"CREATE TABLE keyed_claims(driver TEXT NOT NULL, uid TEXT NOT NULL, namespace TEXT NOT NULL, name TEXT NOT NULL,"
     " phase INTEGER NOT NULL, boot_id TEXT NOT NULL, begun_ms INTEGER NOT NULL, prepared_ms INTEGER NOT NULL,"
     " PRIMARY KEY(driver, uid)) WITHOUT ROWID;"
     "INSERT INTO keyed_claims SELECT * FROM claims; DROP TABLE claims; ALTER TABLE keyed_claims RENAME TO claims;"
     "CREATE TABLE keyed_parts(driver TEXT NOT NULL, uid TEXT NOT NULL, position INTEGER NOT NULL, module TEXT NOT "
     "NULL,"
     " content TEXT NOT NULL, state BLOB NOT NULL, state_version INTEGER NOT NULL,"
     " PRIMARY KEY(driver, uid, position)) WITHOUT ROWID;"
     "INSERT INTO keyed_parts SELECT * FROM parts; DROP TABLE parts; ALTER TABLE keyed_parts RENAME TO parts;",
     2},
    {HealthTables::kSchema, 3},
    {HealthTables::kResetsSchema, 3},
};
// Files of this version and before have no table of their version.
constexpr std::int64_t kLastWithoutTable = 3;

// 4 MiB of log. A checkpoint then takes some milliseconds of disk time.
constexpr int kLongLogPages = 1000;

Status create_private(const std::filesystem::path& file) {
  if (auto folder = make_folder(file.parent_path(), 0700); !folder) return folder;
  // Claim parameters may be secrets. SQLite gives its log the mode of the file.
  const UniqueFd fd(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (fd) return {};
  const Error error = fail_errno(errno, fmt::format("cannot open the ledger '{}'", file.native())).error();
  return fail(error.code, "{}; make its folder writable or set [node] state_dir to one that is", error.message);
}

Status check_health(const sqlite::Database& database) {
  const auto verdict = database.text("PRAGMA quick_check(1)");
  if (!verdict) return std::unexpected(verdict.error());
  if (*verdict != "ok") return fail(Code::kDataLoss, "the ledger is damaged: {}", *verdict);
  return {};
}

struct SchemaVersion {
  std::int64_t version = 0, min_reader = 0;
};

// The version is in a table. SQLite's user_version is the oldest reader, because the first versions compare it with the
// version that they know.
Result<SchemaVersion> schema_version(const sqlite::Database& database) {
  const auto min_reader = database.integer("PRAGMA user_version");
  if (!min_reader) return std::unexpected(min_reader.error());
  const auto has_table = database.integer("SELECT count(*) FROM sqlite_schema WHERE name='schema_version'");
  if (!has_table) return std::unexpected(has_table.error());
  if (*has_table == 0 || *min_reader < kLastWithoutTable) return SchemaVersion{*min_reader, *min_reader};
  const auto version = database.integer("SELECT max(version) FROM schema_version");
  if (!version) return std::unexpected(version.error());
  return SchemaVersion{std::max(*version, *min_reader), *min_reader};
}

}  // namespace

struct LedgerStore::Statements {
  sqlite::Statement put_claim, drop_parts, put_part, drop_claim, put_history, bound_history, age_history;
};

LedgerStore::LedgerStore(std::unique_ptr<sqlite::Database> database, HistoryBounds bounds)
    : database_(std::move(database)), bounds_(bounds) {}
LedgerStore::~LedgerStore() = default;

Result<std::unique_ptr<LedgerStore>> LedgerStore::open(const std::filesystem::path& file, HistoryBounds bounds,
                                                       HistoryBounds health_bounds) {
  if (auto created = create_private(file); !created) return std::unexpected(created.error());
  auto database = sqlite::Database::open(file);
  if (!database) return std::unexpected(database.error());
  std::unique_ptr<LedgerStore> store(new LedgerStore(std::move(*database), bounds));
  // Exclusive, because no other process may change the data that the core holds in memory. It also saves the
  // shared-memory file. A cache of 256 KiB, because the file is mostly written.
  if (auto set =
          store->database_->execute("PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=WAL; PRAGMA cache_size=-256;");
      !set)
    return std::unexpected(set.error());
  const auto schema = schema_version(*store->database_);
  if (!schema) return std::unexpected(schema.error());
  const auto known = static_cast<std::int64_t>(std::size(kSchema));
  if (schema->min_reader > known)
    return fail(Code::kFailedPrecondition,
                "ledger '{}' has schema {}, for a cardcage that knows schema {}, and this one knows up to {}: "
                "run the newer cardcage again, or move the file away to have it rebuilt from the CDI files",
                file.native(), schema->version, schema->min_reader, known);
  store->fresh_ = schema->version == 0;
  if (auto healthy = check_health(*store->database_); !healthy) return std::unexpected(healthy.error());
  if (store->fresh_ && store->database_->integer("SELECT count(*) FROM sqlite_schema").value_or(0) > 0)
    return fail(Code::kDataLoss, "'{}' is the database of another program", file.native());
  if (auto migrated = migrate(*store->database_, kSchema); !migrated) return std::unexpected(migrated.error());
  if (auto compiled = store->compile(health_bounds); !compiled) return std::unexpected(compiled.error());
  return store;
}

Status LedgerStore::migrate(const sqlite::Database& database, std::span<const SchemaStep> steps) {
  const auto schema = schema_version(database);
  if (!schema) return std::unexpected(schema.error());
  for (auto done = static_cast<std::size_t>(schema->version); done < steps.size(); ++done) {
    const auto step = fmt::format(
        "BEGIN IMMEDIATE; {}; CREATE TABLE IF NOT EXISTS schema_version(version INTEGER NOT NULL);"
        "DELETE FROM schema_version; INSERT INTO schema_version(version) VALUES({}); PRAGMA user_version={}; COMMIT;",
        steps[done].statements, done + 1, steps[done].min_reader);
    if (auto migrated = database.execute(step); !migrated) {
      database.roll_back();
      return within(migrated.error(), "cannot migrate the ledger from schema {} to {}", done, done + 1);
    }
  }
  return {};
}

Status LedgerStore::compile(HistoryBounds health_bounds) {
  sqlite::Compiler compile(*database_);
  Statements statements{
      .put_claim = compile("INSERT OR REPLACE INTO claims(driver,uid,namespace,name,phase,boot_id,begun_ms,prepared_ms)"
                           " VALUES(?,?,?,?,?,?,?,?)"),
      .drop_parts = compile("DELETE FROM parts WHERE driver=? AND uid=?"),
      .put_part =
          compile("INSERT INTO parts(driver,uid,position,module,content,state,state_version) VALUES(?,?,?,?,?,?,?)"),
      .drop_claim = compile("DELETE FROM claims WHERE driver=? AND uid=?"),
      .put_history = compile(
          "INSERT INTO history(driver,uid,namespace,name,module,pool,device,request,share_id,prepared_ms,released_ms)"
          " VALUES(?,?,?,?,?,?,?,?,?,?,?)"),
      .bound_history = compile("DELETE FROM history WHERE id <= (SELECT max(id) FROM history) - ?"),
      .age_history = compile("DELETE FROM history WHERE released_ms < ?")};
  auto health = HealthTables::open(*database_, health_bounds);
  // A schema of the right version without our tables belongs to another program.
  if (!health || compile.failure())
    return fail(Code::kDataLoss, "{}", (health ? *compile.failure() : health.error()).message);
  statements_ = std::make_unique<Statements>(std::move(statements));
  health_.emplace(std::move(*health));
  return {};
}

Result<LoadedClaims> LedgerStore::load() const {
  std::map<ClaimKey, ClaimRecord> records;
  auto read = database_->each_row(
      "SELECT driver,uid,namespace,name,phase,boot_id,begun_ms,prepared_ms FROM claims",
      [&](const sqlite::Statement& row) {
        ClaimRecord record{.driver = row.text(0),
                           .ref = {row.text(2), row.text(3), row.text(1)},
                           .phase = static_cast<ClaimPhase>(std::clamp<std::int64_t>(row.integer(4), 1, 3)),
                           .boot_id = row.text(5),
                           .begun = bounded_wall_time(row.integer(6)),
                           .prepared = bounded_wall_time(row.integer(7)),
                           .parts = {}};
        records.emplace(record.key(), std::move(record));
      });
  LoadedClaims loaded;
  if (read)
    read = database_->each_row("SELECT driver,uid,module,content,state,state_version FROM parts ORDER BY position",
                               [&](const sqlite::Statement& row) {
                                 const auto record = records.find({row.text(0), row.text(1)});
                                 auto part = part_from_json(row.text(3));
                                 if (record == records.end() || !part) {
                                   loaded.damaged.insert({row.text(0), row.text(1)});
                                   return;
                                 }
                                 part->module = row.text(2);
                                 part->state = row.text(4);
                                 part->state_version = static_cast<std::uint32_t>(row.integer(5));
                                 record->second.parts.push_back(std::move(*part));
                               });
  if (!read) return std::unexpected(read.error());
  for (auto& [key, record] : records)
    if (!loaded.damaged.contains(key)) loaded.readable.push_back(std::move(record));
  return loaded;
}

Status LedgerStore::quarantine(const std::set<ClaimKey>& claims) {
  if (auto made = database_->execute("CREATE TABLE IF NOT EXISTS damaged_parts(driver TEXT, uid TEXT, position INTEGER,"
                                     " module TEXT, content TEXT, state BLOB, state_version INTEGER)");
      !made)
    return made;
  auto keep = database_->compile(
      "INSERT INTO damaged_parts(driver,uid,position,module,content,state,state_version) SELECT "
      "driver,uid,position,module,content,state,state_version FROM parts"
      " WHERE driver=? AND uid=?");
  if (!keep) return std::unexpected(keep.error());
  auto done = database_->execute("BEGIN IMMEDIATE");
  for (const auto& [driver, uid] : claims) {
    if (done) done = keep->run(driver, uid);
    if (done) done = statements_->drop_parts.run(driver, uid);
    if (done) done = statements_->drop_claim.run(driver, uid);
  }
  if (done) done = database_->execute("COMMIT");
  if (!done) database_->roll_back();
  return done;
}

Status LedgerStore::set_durability(Durability durability) {
  if (durability_ == durability) return {};
  const bool sync = durability == Durability::kNode;
  auto set = database_->execute(sync ? "PRAGMA synchronous=FULL" : "PRAGMA synchronous=NORMAL");
  if (set) durability_ = durability;
  return set;
}

Status LedgerStore::write(std::span<const LedgerChange> changes, const HealthChanges& health,
                          const std::function<void()>& before_commit) {
  const bool durable = health.durable() || std::ranges::any_of(changes, [](const LedgerChange& change) {
                         return change.durability == Durability::kNode;
                       });
  if (auto set = set_durability(durable ? Durability::kNode : Durability::kProcess); !set) return set;
  auto done = database_->execute("BEGIN IMMEDIATE");
  if (done) done = apply(changes);
  if (done) done = health_->apply(health);
  if (done && before_commit) before_commit();
  if (done) done = database_->execute("COMMIT");
  if (!done) database_->roll_back();
  return done;
}

Status LedgerStore::apply(std::span<const LedgerChange> changes) {
  std::optional<WallTime> newest;
  for (const LedgerChange& change : changes) {
    auto done = change.released ? release(*change.record, *change.released) : put(*change.record);
    for (const HistoryEntry& entry : change.left) {
      if (done) done = note(entry);
      newest = entry.released;
    }
    if (!done) return done;
    if (change.released) newest = change.released;
  }
  if (!newest) return {};
  if (auto bounded = statements_->bound_history.run(bounds_.rows); !bounded) return bounded;
  return statements_->age_history.run(to_ms(*newest - bounds_.age));
}

Status LedgerStore::put(const ClaimRecord& record) {
  const ClaimRef& ref = record.ref;
  auto done = statements_->put_claim.run(record.driver, ref.uid, ref.name_space, ref.name,
                                         static_cast<std::int64_t>(record.phase), record.boot_id, to_ms(record.begun),
                                         to_ms(record.prepared));
  if (done) done = statements_->drop_parts.run(record.driver, ref.uid);
  std::int64_t position = 0;
  for (const ModulePart& part : record.parts) {
    if (!done) return done;
    done = statements_->put_part.run(record.driver, ref.uid, position++, part.module, part_to_json(part),
                                     sqlite::Blob{part.state}, static_cast<std::int64_t>(part.state_version));
  }
  return done;
}

Status LedgerStore::release(const ClaimRecord& record, WallTime when) {
  const ClaimRef& ref = record.ref;
  auto done = statements_->drop_claim.run(record.driver, ref.uid);
  if (done) done = statements_->drop_parts.run(record.driver, ref.uid);
  for (const HistoryEntry& entry : history_of(record, when)) {
    if (done) done = note(entry);
  }
  return done;
}

Status LedgerStore::note(const HistoryEntry& entry) {
  return statements_->put_history.run(entry.driver, entry.ref.uid, entry.ref.name_space, entry.ref.name, entry.module,
                                      entry.pool, entry.device, entry.request, entry.share_id, to_ms(entry.prepared),
                                      to_ms(entry.released));
}

Result<std::vector<HistoryEntry>> LedgerStore::history(const HistoryQuery& query) const {
  std::vector<HistoryEntry> entries;
  const auto read = database_->each_row(
      "SELECT driver,uid,namespace,name,module,pool,device,request,share_id,prepared_ms,released_ms FROM history"
      " WHERE (?1='' OR uid=?1 OR name=?1 OR namespace||'/'||name=?1) AND (?2='' OR driver=?2)"
      " AND (?3='' OR device=?3) AND released_ms>=?4 ORDER BY id DESC LIMIT ?5",
      [&](const sqlite::Statement& row) {
        entries.push_back({.driver = row.text(0),
                           .ref = {row.text(2), row.text(3), row.text(1)},
                           .module = row.text(4),
                           .pool = row.text(5),
                           .device = row.text(6),
                           .request = row.text(7),
                           .share_id = row.text(8),
                           .prepared = bounded_wall_time(row.integer(9)),
                           .released = bounded_wall_time(row.integer(10))});
      },
      query.claim, query.driver, query.device, to_ms(query.since), query.limit);
  if (!read) return std::unexpected(read.error());
  return entries;
}

void LedgerStore::tidy() {
  // An error shows again at the next write, whose caller gets it.
  if (database_->log_pages() >= kLongLogPages) (void)database_->execute("PRAGMA wal_checkpoint(PASSIVE)");
}

}  // namespace cardcage
