#include "host/config/live_config.h"

#include <fmt/ranges.h>

#include "host/core/digest.h"
#include "host/core/log.h"

namespace cardcage {
namespace {

constexpr Duration kAnyway = std::chrono::seconds(30);
// Who writes in place, or removes the file to write another, is done by then.
constexpr Duration kRest = std::chrono::milliseconds(300);

std::vector<std::string> lines_of(const ConfigErrors& errors) {
  std::vector<std::string> lines;
  for (const auto& entry : errors.entries)
    lines.push_back(fmt::format("{}: {}", entry.position.to_string(), entry.message));
  return lines;
}

std::string words(const std::vector<PlanStep>& steps) {
  std::vector<std::string> words;
  for (const PlanStep& step : steps) words.push_back(fmt::format("{} {}", step.action, step.subject));
  return words.empty() ? "nothing differs" : fmt::format("{}", fmt::join(words, ", "));
}

}  // namespace

LiveConfig::LiveConfig(asio::io_context& core, Clock& clock, std::filesystem::path file, const Config& running,
                       Apply apply)
    : clock_(clock),
      file_(std::move(file)),
      running_(running),
      apply_(std::move(apply)),
      known_(running.sha256),
      seen_(running.sha256),
      wake_(core),
      watch_(core, [this] { wake_.wake(); }) {
  state_.applied = clock.wall();
}

// The folder where the file is, and that to which a link leads. A failure costs the time to the next look, no more.
void LiveConfig::watch_folders() {
  std::error_code failed;
  const auto target = std::filesystem::canonical(file_, failed);
  if (!failed) std::ignore = watch_.watch(target.parent_path(), FolderWatch::Of::kWritesToo);
  const auto folder = file_.parent_path();
  std::ignore = watch_.watch(folder.empty() ? "." : folder, FolderWatch::Of::kWritesToo);
}

Task<void> LiveConfig::run() {
  while (!stopping_) {
    watch_folders();
    while (!stopping_ && look()) co_await clock_.sleep_for(kRest);
    if (!stopping_) co_await wake_.wait_for(clock_, kAnyway);
  }
}

void LiveConfig::stop() {
  stopping_ = true;
  wake_.wake();
}

bool LiveConfig::look() {
  const auto text = read_config(file_);
  const std::string now = text ? sha256_hex(*text) : text.error().message;
  const bool at_rest = now == std::exchange(seen_, now);
  if (now == known_) return false;
  if (!at_rest) return true;
  reload(false);
  return false;
}

ReloadResult LiveConfig::reload(bool dry_run) {
  const auto text = read_config(file_);
  const auto wanted = text ? parse_config(*text, file_.native()) : std::unexpected(unreadable(file_, text.error()));
  ReloadResult result;
  if (wanted)
    result.plan = plan_change(running_, *wanted);
  else
    result.errors = lines_of(wanted.error());
  if (dry_run) return result;
  known_ = seen_ = text ? sha256_hex(*text) : text.error().message;
  if (!wanted) {
    refuse(result.errors);
    return result;
  }
  state_.errors.clear();
  state_.restart = result.plan.restart;
  state_.applied = clock_.wall();
  ++state_.reloads;
  log(LogLevel::kInfo, "the configuration is applied",
      {{"file", file_.native()}, {"sha256", wanted->sha256}, {"changes", words(steps(result.plan))}});
  if (!state_.restart.empty())
    log(LogLevel::kWarn, "a part of the configuration needs a restart of the daemon",
        {{"keys", fmt::format("{}", fmt::join(state_.restart, ", "))}});
  apply_(*wanted, result.plan);
  return result;
}

void LiveConfig::refuse(const std::vector<std::string>& errors) {
  state_.errors = errors;
  ++state_.failures;
  for (const std::string& error : errors)
    log(LogLevel::kError, "the configuration is refused; the old one goes on", {{"error", error}});
}

}  // namespace cardcage
