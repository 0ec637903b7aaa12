#include "host/config/live_config.h"

#include <fmt/ranges.h>

#include "host/core/digest.h"
#include "host/core/log.h"

namespace cardcage {
namespace {

constexpr Duration kCheckInterval = std::chrono::seconds(30);
// By then an editor has finished that writes in place, or that removes the file before it writes another.
constexpr Duration kSettleTime = std::chrono::milliseconds(300);

std::vector<std::string> lines_of(const ConfigErrors& errors) {
  std::vector<std::string> lines;
  for (const auto& entry : errors.entries)
    lines.push_back(fmt::format("{}: {}", entry.position.to_string(), entry.message));
  return lines;
}

std::string summary_of(const std::vector<PlanStep>& steps) {
  std::vector<std::string> changes;
  for (const PlanStep& step : steps) changes.push_back(fmt::format("{} {}", to_string(step.action), step.subject));
  return changes.empty() ? "none" : fmt::format("{}", fmt::join(changes, ", "));
}

}  // namespace

LiveConfig::LiveConfig(asio::io_context& core, Clock& clock, std::filesystem::path file, const Config& running,
                       Apply apply)
    : clock_(clock),
      file_(std::move(file)),
      running_(running),
      apply_(std::move(apply)),
      processed_(running.sha256),
      seen_(running.sha256),
      wake_(core),
      watch_(core, [this] { wake_.wake(); }) {
  state_.applied = clock.wall();
}

// Watches the folder of the file, and the folder of the link's target. After a failure, the next check finds a change.
void LiveConfig::watch_folders() {
  std::error_code failed;
  const auto target = std::filesystem::canonical(file_, failed);
  if (!failed) std::ignore = watch_.watch(target.parent_path(), FolderWatch::Events::kWritesToo);
  const auto folder = file_.parent_path();
  std::ignore = watch_.watch(folder.empty() ? "." : folder, FolderWatch::Events::kWritesToo);
}

Task<void> LiveConfig::run() {
  while (!stopping_) {
    watch_folders();
    while (!stopping_ && check_file()) co_await clock_.sleep_for(kSettleTime);
    if (!stopping_) co_await wake_.wait_for(clock_, kCheckInterval);
  }
}

void LiveConfig::stop() {
  stopping_ = true;
  wake_.wake();
}

bool LiveConfig::check_file() {
  const auto text = read_config(file_);
  const std::string now = text ? sha256_hex(*text) : text.error().message;
  const bool settled = now == std::exchange(seen_, now);
  if (now == processed_) return false;
  if (!settled) return true;
  reload(false);
  return false;
}

ReloadResult LiveConfig::reload(bool dry_run) {
  const auto text = read_config(file_);
  const auto wanted =
      text ? parse_config(*text, file_.native()) : std::unexpected(unreadable_file(file_, text.error()));
  ReloadResult result;
  if (wanted)
    result.plan = plan_change(running_, *wanted);
  else
    result.errors = lines_of(wanted.error());
  if (dry_run) return result;
  processed_ = seen_ = text ? sha256_hex(*text) : text.error().message;
  if (!wanted) {
    refuse(result.errors);
    return result;
  }
  state_.errors.clear();
  state_.restart = result.plan.restart;
  state_.applied = clock_.wall();
  ++state_.reloads;
  log(LogLevel::kInfo, "configuration applied",
      {{"file", file_.native()}, {"sha256", wanted->sha256}, {"changes", summary_of(steps(result.plan))}});
  if (!state_.restart.empty())
    log(LogLevel::kWarn, "some keys of the configuration take effect after a restart of the daemon",
        {{"keys", fmt::format("{}", fmt::join(state_.restart, ", "))}});
  apply_(*wanted, result.plan);
  return result;
}

void LiveConfig::refuse(const std::vector<std::string>& errors) {
  state_.errors = errors;
  ++state_.failures;
  for (const std::string& error : errors)
    log(LogLevel::kError, "configuration refused; the previous one stays in effect", {{"error", error}});
}

}  // namespace cardcage
