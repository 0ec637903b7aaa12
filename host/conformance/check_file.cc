#include "host/conformance/check_file.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <ranges>
#include <set>

#include "host/conformance/rule.h"
#include "host/process/own_programs.h"

namespace cardcage {
namespace {

// Removes the folder with the object.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::error_code failed;
    std::string name = std::filesystem::temp_directory_path(failed) / "cardcage-check-XXXXXX";
    if (const char* const made = ::mkdtemp(name.data())) path_ = made;
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  // Empty if no folder could be made.
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

std::unexpected<Error> no_scratch_folder() {
  return fail_errno(errno, "cannot make a temporary folder; set TMPDIR to a writable one");
}

Status check_programs(bool in_process) {
  std::vector needed{access_file()};
  if (!in_process) needed.insert(needed.begin(), worker_file());
  for (const auto& file : needed) {
    if (!file) return std::unexpected(file.error());
    if (::access(file->c_str(), X_OK) != 0)
      return within(fail_errno(errno, fmt::format("'{}'", file->native())).error(),
                    "cannot run the module: install {} beside this program", file->filename().native());
  }
  return {};
}

// Skips the rule if the one that it needs does not pass.
Task<Outcome> check_rule(const Rule& rule, Trial& trial, const std::vector<Finding>& findings) {
  const auto needed = std::ranges::find(findings, rule.needs, &Finding::name);
  if (needed == findings.end() || needed->outcome.verdict == Verdict::kPass) co_return co_await rule.check(trial);
  if (needed->outcome.verdict == Verdict::kSkipped) co_return needed->outcome;
  co_return skipped(fmt::format("'{}' failed", needed->statement));
}

// The rules that the request names, or all if it names none, and the rules that these need. The log is always checked.
std::set<std::string_view> wanted_rules(const std::vector<std::string>& names) {
  std::set<std::string_view> wanted{kLogRule};
  const auto is_named = [&](const Rule& rule) {
    return names.empty() || std::ranges::find(names, rule.name) != names.end() ||
           std::ranges::find(names, rule.number) != names.end();
  };
  for (const Rule& rule : all_rules() | std::views::reverse)  // each after those that need it
    if (is_named(rule) || wanted.contains(rule.name)) wanted.insert({rule.name, rule.needs});
  return wanted;
}

Task<void> check_rules(asio::io_context& core, Trial& trial, std::vector<Finding>& findings) {
  const auto wanted = wanted_rules(trial.request().rules);
  for (const Rule& rule : all_rules()) {
    if (!wanted.contains(rule.name)) continue;
    if (trial.request().begins) trial.request().begins(rule.number, rule.name, rule.statement);
    Outcome outcome = co_await check_rule(rule, trial, findings);
    if (outcome.verdict == Verdict::kFail) {
      trial.note_broken(rule.number);
      std::ignore = co_await trial.stop();  // a broken instance must not spoil the next rule
    }
    co_await trial.release_claims();
    findings.push_back({rule.number, rule.name, rule.statement, std::move(outcome)});
  }
  std::ignore = co_await trial.stop();
  core.stop();  // coroutines that still wait do not matter
}

Task<void> load_only(asio::io_context& core, Trial& trial, Status& outcome) {
  outcome = co_await trial.stage();
  if (outcome) outcome = co_await trial.load();
  std::ignore = co_await trial.stop();
  core.stop();
}

}  // namespace

std::size_t Report::count(Verdict verdict) const {
  return static_cast<std::size_t>(
      std::ranges::count(findings, verdict, [](const Finding& finding) { return finding.outcome.verdict; }));
}

Result<Report> check_file(CheckRequest request) {
  if (auto found = check_programs(request.in_process); !found) return std::unexpected(found.error());
  const ScratchFolder scratch;
  if (scratch.path().empty()) return no_scratch_folder();
  Report report;
  report.file = request.file;
  report.in_process = request.in_process;
  asio::io_context core;
  SystemClock clock;
  const auto log = CheckLog::divert();
  Trial trial(core, clock, std::move(request), scratch.path(), log);
  spawn(core, check_rules(core, trial, report.findings));
  core.run();
  report.logged = log->lines();
  if (trial.identity()) report.identity = *trial.identity();
  return report;
}

Result<ModuleIdentity> read_declarations(CheckRequest request) {
  if (auto found = check_programs(request.in_process); !found) return std::unexpected(found.error());
  const ScratchFolder scratch;
  if (scratch.path().empty()) return no_scratch_folder();
  asio::io_context core;
  SystemClock clock;
  Trial trial(core, clock, std::move(request), scratch.path(), std::make_shared<CheckLog>());
  Status loaded;
  spawn(core, load_only(core, trial, loaded));
  core.run();
  if (!loaded) return std::unexpected(loaded.error());
  return *trial.identity();
}

}  // namespace cardcage
