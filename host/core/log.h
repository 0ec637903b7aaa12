// Log lines of the host on stderr: a message with fields, as text or as JSON.
//
// [any-thread] Code that a hostile peer can trigger repeatedly uses `log_limited`.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <variant>

namespace cardcage {

enum class LogLevel { kTrace, kDebug, kInfo, kWarn, kError };
enum class LogFormat { kText, kJson };

// Members of every line of the JSON log, which a field must not repeat.
constexpr bool is_reserved_field(std::string_view name) {
  return name == "time" || name == "level" || name == "message";
}

// A reserved name does not compile.
class FieldName {
 public:
  consteval FieldName(const char* name) : text_(name) {
    if (is_reserved_field(text_)) throw "a field of every line has this name";
  }
  constexpr std::string_view text() const { return text_; }

 private:
  std::string_view text_;
};

// A text, a number or a boolean, with the same type in JSON.
class FieldValue {
 public:
  FieldValue(std::string text) : value_(std::move(text)) {}
  FieldValue(const char* text) : value_(std::string(text)) {}
  FieldValue(std::same_as<bool> auto flag) : value_(flag) {}
  FieldValue(std::signed_integral auto number) : value_(std::int64_t{number}) {}
  template <std::unsigned_integral T>
    requires(!std::same_as<T, bool>)
  FieldValue(T number) : value_(std::uint64_t{number}) {}

  std::string text() const;
  std::string json() const;

 private:
  std::variant<std::string, bool, std::int64_t, std::uint64_t> value_;
};

struct LogField {
  FieldName name;
  FieldValue value;
};

// Takes effect at once; may be called again. [one thread at a time]
void configure_log(LogLevel level, LogFormat format);
// Sends lines to `sink` instead of stderr. Any thread may call `sink`. Call it once, before other threads start.
using LogSink = std::function<void(LogLevel level, std::string_view message, std::initializer_list<LogField> fields)>;
void divert_log(LogSink sink);
bool log_enabled(LogLevel level);

// log(LogLevel::kInfo, "prepared", {{"claim", uid}, {"driver", name}})
void log(LogLevel level, std::string_view message, std::initializer_list<LogField> fields = {});

// Writes at most 8 lines per `key` in 10 s, none twice, and repeated ones ever more rarely. The next line gives the
// number of those left out.
void log_limited(LogLevel level, std::string_view key, std::string_view message,
                 std::initializer_list<LogField> fields = {});

}  // namespace cardcage
