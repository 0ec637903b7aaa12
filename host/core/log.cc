#include "host/core/log.h"

#include <fmt/format.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <atomic>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <memory>
#include <mutex>
#include <optional>

#include "host/core/clock.h"
#include "host/core/repeat_limit.h"

namespace cardcage {
namespace {

spdlog::level::level_enum spd_level(LogLevel level) {
  switch (level) {
    case LogLevel::kTrace: return spdlog::level::trace;
    case LogLevel::kDebug: return spdlog::level::debug;
    case LogLevel::kInfo: return spdlog::level::info;
    case LogLevel::kWarn: return spdlog::level::warn;
    case LogLevel::kError: return spdlog::level::err;
  }
  return spdlog::level::info;
}

struct Output {
  std::shared_ptr<spdlog::logger> logger =
      std::make_shared<spdlog::logger>("cardcage", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  std::atomic<LogFormat> format = LogFormat::kText;
  std::mutex mutex;
  std::shared_ptr<const LogSink> sink;  // null: stderr; guarded by mutex
  Output() { set_pattern(); }
  std::shared_ptr<const LogSink> current_sink() {
    const std::lock_guard lock(mutex);
    return sink;
  }
  void set_pattern() {
    logger->set_pattern(format == LogFormat::kJson ? "{\"time\":\"%Y-%m-%dT%H:%M:%S.%eZ\",\"level\":\"%l\",%v}"
                                                   : "%Y-%m-%dT%H:%M:%S.%eZ %^%-5l%$ %v",
                        spdlog::pattern_time_type::utc);
  }
};

// Never destroyed: a thread of an abandoned module may log while the process exits.
Output& output() {
  static Output& instance = *new Output;
  return instance;
}

// Replaces the characters that would end the line or drive a terminal.
std::string in_one_line(std::string_view text) {
  std::string line;
  for (const char c : text) {
    if (c == '\n')
      line += "\\n";
    else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      line += '?';
    else
      line += c;
  }
  return line;
}

std::string in_quotes(std::string_view text) { return boost::json::serialize(boost::json::string(text)); }

}  // namespace

std::string FieldValue::text() const {
  return std::visit([](const auto& value) { return fmt::format("{}", value); }, value_);
}

std::string FieldValue::json() const {
  const auto* const words = std::get_if<std::string>(&value_);
  return words != nullptr ? in_quotes(*words) : text();
}

void configure_log(LogLevel level, LogFormat format) {
  Output& out = output();
  out.logger->set_level(spd_level(level));
  out.format = format;
  out.set_pattern();
}

void divert_log(LogSink sink) {
  Output& out = output();
  const std::lock_guard lock(out.mutex);
  out.sink = sink ? std::make_shared<const LogSink>(std::move(sink)) : nullptr;
}

bool log_enabled(LogLevel level) { return output().logger->should_log(spd_level(level)); }

void log(LogLevel level, std::string_view message, std::initializer_list<LogField> fields) {
  Output& out = output();
  if (!out.logger->should_log(spd_level(level))) return;
  if (const auto sink = out.current_sink()) return (*sink)(level, message, fields);
  std::string line;
  if (out.format == LogFormat::kJson) {
    line = "\"message\":" + in_quotes(message);
    for (const LogField& field : fields)
      line += fmt::format(",{}:{}", in_quotes(field.name.text()), field.value.json());
  } else {
    line = in_one_line(message);
    for (const LogField& field : fields) {
      const std::string text = field.value.text();
      const bool plain = !text.empty() && text.find_first_of(" \"=\n\t") == std::string::npos;
      line += fmt::format(" {}={}", field.name.text(), plain ? text : in_quotes(text));
    }
  }
  out.logger->log(spd_level(level), line);
}

void log_limited(LogLevel level, std::string_view key, std::string_view message,
                 std::initializer_list<LogField> fields) {
  static std::mutex mutex;
  static RepeatLimit& limit = *new RepeatLimit;  // never destroyed, as output()

  std::string text(message);
  for (const LogField& field : fields) text += "\n" + field.value.text();
  const Instant now = SystemClock().now();  // any thread may log; an injected clock belongs to the core
  std::optional<std::uint64_t> left_out;
  {
    const std::lock_guard lock(mutex);
    left_out = limit.admit(key, text, now);
  }
  if (!left_out) return;
  if (*left_out == 0) return log(level, message, fields);
  log(level, fmt::format("{} (and {} more like it)", message, *left_out), fields);
}

}  // namespace cardcage
