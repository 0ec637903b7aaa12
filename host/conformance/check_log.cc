#include "host/conformance/check_log.h"

#include <algorithm>
#include <iterator>

#include "host/core/result.h"

namespace cardcage {
namespace {

constexpr std::size_t kMaxLines = 20, kMaxBreaches = 20;

template <class T>
void add_once(std::vector<T>& to, T one) {
  if (std::ranges::find(to, one) == to.end()) to.push_back(std::move(one));
}

}  // namespace

std::shared_ptr<CheckLog> CheckLog::divert() {
  auto log = std::make_shared<CheckLog>();
  configure_log(LogLevel::kWarn, LogFormat::kText);
  divert_log(
      [log](LogLevel, std::string_view message, std::initializer_list<LogField> fields) { log->add(message, fields); });
  return log;
}

void CheckLog::add(std::string_view message, std::initializer_list<LogField> fields) {
  const auto rule = std::ranges::find(fields, "rule", [](const LogField& field) { return field.name.text(); });
  const std::lock_guard lock(mutex_);
  add_once(lines_, std::string(message));
  if (lines_.size() > kMaxLines) lines_.erase(lines_.begin());
  if (rule != fields.end() && breaches_.size() < kMaxBreaches)
    add_once(breaches_, Breach{rule->value.text(), std::string(message)});
}

std::vector<std::string> CheckLog::lines() {
  const std::lock_guard lock(mutex_);
  return lines_;
}

std::vector<std::string> CheckLog::breaches(const std::set<std::string_view>& known) {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> found;
  for (const Breach& breach : breaches_)
    if (!known.contains(breach.rule)) found.push_back(fmt::format("{} [{}]", breach.text, breach.rule));
  return found;
}

}  // namespace cardcage
