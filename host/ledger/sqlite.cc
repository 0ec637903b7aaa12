#include "host/ledger/sqlite.h"

#include <cerrno>

namespace cardcage::sqlite {
namespace {

struct Explanation {
  Code code;
  std::string_view remedy;
};

Explanation explain(int result, int system_error) {
  switch (result & 0xff) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB: return {Code::kDataLoss, "restart cardcage: it sets the file aside and rebuilds what it can"};
    case SQLITE_FULL: return {Code::kResourceExhausted, "free space on its disk; the kubelet tries again by itself"};
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return {Code::kAborted, "another cardcage uses it; two may not share one state_dir at the same time"};
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_CANTOPEN:
      return {Code::kPermissionDenied, "make the folder writable or set [node] state_dir to one that is"};
    case SQLITE_IOERR:
      if (system_error == ENOSPC || system_error == EDQUOT || system_error == EFBIG)
        return {Code::kResourceExhausted, "free space on its disk; the kubelet tries again by itself"};
      return {Code::kUnavailable, "look for disk errors in the kernel log"};
    default: return {Code::kInternal, "this is a defect of cardcage, please report it"};
  }
}

}  // namespace

Result<bool> Statement::next() {
  const int result = sqlite3_step(handle_.get());
  if (result == SQLITE_ROW) return true;
  if (result == SQLITE_DONE) return false;
  return database_->error();
}

std::optional<double> Statement::real(int column) const {
  if (sqlite3_column_type(handle_.get(), column) == SQLITE_NULL) return std::nullopt;
  return sqlite3_column_double(handle_.get(), column);
}

std::string Statement::text(int column) const {
  const auto* bytes = static_cast<const char*>(sqlite3_column_blob(handle_.get(), column));
  return bytes ? std::string(bytes, static_cast<std::size_t>(sqlite3_column_bytes(handle_.get(), column))) : "";
}

void Statement::bind_one(int index, const std::optional<double>& value) {
  if (value)
    sqlite3_bind_double(handle_.get(), index, *value);
  else
    sqlite3_bind_null(handle_.get(), index);
}

void Statement::bind_one(int index, std::string_view text) {
  sqlite3_bind_text64(handle_.get(), index, text.data(), text.size(), SQLITE_STATIC, SQLITE_UTF8);
}

void Statement::bind_one(int index, Blob blob) {
  sqlite3_bind_blob64(handle_.get(), index, blob.bytes.data(), blob.bytes.size(), SQLITE_STATIC);
}

Result<std::unique_ptr<Database>> Database::open(const std::filesystem::path& file) {
  sqlite3* handle = nullptr;
  // NOMUTEX, because only the ledger's writer thread uses it after the start.
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
  const int result = sqlite3_open_v2(file.c_str(), &handle, flags, nullptr);
  std::unique_ptr<Database> database(new Database(handle, file));
  if (result != SQLITE_OK) return database->error();
  sqlite3_extended_result_codes(handle, 1);
  sqlite3_wal_hook(
      handle,
      [](void* self, sqlite3*, const char*, int pages) {
        static_cast<Database*>(self)->log_pages_ = pages;
        return SQLITE_OK;
      },
      database.get());
  return database;
}

Status Database::execute(const std::string& statements) const {
  if (sqlite3_exec(handle_.get(), statements.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) return error();
  return {};
}

Result<Statement> Database::compile(std::string_view statement) const {
  sqlite3_stmt* compiled = nullptr;
  if (sqlite3_prepare_v3(handle_.get(), statement.data(), static_cast<int>(statement.size()), SQLITE_PREPARE_PERSISTENT,
                         &compiled, nullptr) != SQLITE_OK)
    return error();
  return Statement(compiled, *this);
}

Result<std::string> Database::text(std::string_view query) const {
  auto statement = compile(query);
  if (!statement) return std::unexpected(statement.error());
  const auto row = statement->next();
  if (!row) return std::unexpected(row.error());
  return *row ? statement->text(0) : std::string();
}

Result<std::int64_t> Database::integer(std::string_view query) const {
  auto statement = compile(query);
  if (!statement) return std::unexpected(statement.error());
  const auto row = statement->next();
  if (!row) return std::unexpected(row.error());
  return *row ? statement->integer(0) : 0;
}

void Database::roll_back() const {
  if (sqlite3_get_autocommit(handle_.get()) == 0) sqlite3_exec(handle_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
}

std::unexpected<Error> Database::error() const {
  const int result = handle_ ? sqlite3_extended_errcode(handle_.get()) : SQLITE_NOMEM;
  const int system_error = handle_ ? sqlite3_system_errno(handle_.get()) : ENOMEM;
  const Explanation explanation = explain(result, system_error);
  return fail(explanation.code, "ledger '{}': {}; {}", file_.native(),
              handle_ ? sqlite3_errmsg(handle_.get()) : "out of memory", explanation.remedy);
}

}  // namespace cardcage::sqlite
