// The part of SQLite that the ledger needs, with owned handles, and errors with a remedy.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "host/core/result.h"

namespace cardcage::sqlite {

struct Blob {
  std::string_view bytes;
};

class Database;

// A compiled statement. Used by one thread at a time; its database outlives it.
class Statement {
 public:
  // Binds the arguments, runs to the end and resets. For statements without rows.
  template <class... Arguments>
  Status run(const Arguments&... arguments) {
    bind(arguments...);
    auto stepped = next();
    sqlite3_reset(handle_.get());
    if (!stepped) return std::unexpected(stepped.error());
    return {};
  }
  // Binds the arguments and rewinds to before the first row.
  template <class... Arguments>
  void bind(const Arguments&... arguments) {
    sqlite3_reset(handle_.get());
    int index = 0;
    (bind_one(++index, arguments), ...);
  }
  // Goes to the next row; false after the last. Its columns are valid until the next call.
  Result<bool> next();

  std::int64_t integer(int column) const { return sqlite3_column_int64(handle_.get(), column); }
  std::optional<double> real(int column) const;  // nothing = NULL
  std::string text(int column) const;

 private:
  friend class Database;
  friend class Compiler;
  Statement(sqlite3_stmt* handle, const Database& database)
      : handle_(handle, &sqlite3_finalize), database_(&database) {}
  // Does not copy: the arguments of run() live long enough.
  void bind_one(int index, std::int64_t value) { sqlite3_bind_int64(handle_.get(), index, value); }
  void bind_one(int index, const std::optional<double>& value);
  void bind_one(int index, std::string_view text);
  void bind_one(int index, Blob blob);

  std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)> handle_;
  const Database* database_;
};

// One connection. Codes: kDataLoss for a damaged file, kResourceExhausted for a full disk, kPermissionDenied for a
// read-only one, kAborted while another process uses it.
class Database {
 public:
  static Result<std::unique_ptr<Database>> open(const std::filesystem::path& file);

  // One or more statements without results.
  Status execute(const std::string& statements) const;
  Result<Statement> compile(std::string_view statement) const;
  // Calls `take` with each row of the query, in which `arguments` are bound.
  template <class Take, class... Arguments>
  Status each_row(std::string_view query, Take take, const Arguments&... arguments) const {
    auto rows = compile(query);
    if (!rows) return std::unexpected(rows.error());
    rows->bind(arguments...);
    auto row = rows->next();
    for (; row && *row; row = rows->next()) take(std::as_const(*rows));
    if (!row) return std::unexpected(row.error());
    return {};
  }
  // The first column of the first row.
  Result<std::int64_t> integer(std::string_view query) const;
  Result<std::string> text(std::string_view query) const;
  // Ends a failed transaction, unless SQLite has done so.
  void roll_back() const;
  // The length of the write-ahead log after the last commit.
  int log_pages() const { return log_pages_; }

  std::unexpected<Error> error() const;

 private:
  Database(sqlite3* handle, std::filesystem::path file) : handle_(handle, &sqlite3_close_v2), file_(std::move(file)) {}

  std::unique_ptr<sqlite3, int (*)(sqlite3*)> handle_;
  std::filesystem::path file_;
  int log_pages_ = 0;
};

// Compiles statements that are useful only together.
class Compiler {
 public:
  explicit Compiler(const Database& database) : database_(database) {}

  // Returns a statement that must not be used if there is a failure.
  Statement operator()(std::string_view text) {
    auto compiled = database_.compile(text);
    if (compiled) return std::move(*compiled);
    failure_ = compiled.error();
    return Statement(nullptr, database_);
  }
  const std::optional<Error>& failure() const { return failure_; }

 private:
  const Database& database_;
  std::optional<Error> failure_;
};

}  // namespace cardcage::sqlite
