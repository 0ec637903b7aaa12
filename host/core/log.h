// Log lines of the host on stderr: a message with fields, as text or as JSON.
//
// [any-thread] Code that a hostile peer can trigger repeatedly uses `log_limited`.
#pragma once

#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>

namespace cardcage {

enum class LogLevel { kTrace, kDebug, kInfo, kWarn, kError };
enum class LogFormat { kText, kJson };

struct LogField {
  std::string_view name;
  std::string value;
};

// Takes effect at once; may be called again. [one thread at a time]
void configure_log(LogLevel level, LogFormat format);
// Sends lines to `sink` instead of stderr. Any thread may call `sink`. Call it once, before other threads start.
using LogSink = std::function<void(LogLevel level, std::string_view message, std::initializer_list<LogField> fields)>;
void divert_log(LogSink sink);
bool log_enabled(LogLevel level);

// log(LogLevel::kInfo, "prepared", {{"claim", uid}, {"driver", name}})
void log(LogLevel level, std::string_view message, std::initializer_list<LogField> fields = {});

// At most 8 lines per `key` in 10 s, none twice, and repeated ones ever rarer. The next one says how many were left
// out.
void log_limited(LogLevel level, std::string_view key, std::string_view message,
                 std::initializer_list<LogField> fields = {});

}  // namespace cardcage
