// Log lines of the host: structured fields, text for people or JSON, on stderr.
//
// [any-thread] Call sites that a hostile peer can trigger repeatedly use `log_limited`.
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

// Takes effect at once, also later on. [one thread at a time]
void configure_log(LogLevel level, LogFormat format);
// Lines go to `sink`, which may be called from any thread, and not to stderr. Once, before there are other threads.
using LogSink = std::function<void(LogLevel level, std::string_view message, std::initializer_list<LogField> fields)>;
void divert_log(LogSink sink);
bool log_enabled(LogLevel level);

// log(LogLevel::kInfo, "prepared", {{"claim", uid}, {"driver", name}})
void log(LogLevel level, std::string_view message, std::initializer_list<LogField> fields = {});

// At most one line per `key` in 10 s; the next one says how many were left out.
void log_limited(LogLevel level, std::string_view key, std::string_view message,
                 std::initializer_list<LogField> fields = {});

}  // namespace cardcage
