// cagectl module check FILE: the rules of abi/RULES.md, checked on a module file without a daemon.
#include <fcntl.h>

#include <map>
#include <mutex>
#include <string_view>
#include <utility>

#include "ctl/module_options.h"
#include "ctl/print.h"
#include "ctl/session.h"
#include "host/config/names.h"
#include "host/conformance/check_file.h"
#include "host/core/duration.h"
#include "host/core/log.h"
#include "host/core/unique_fd.h"

namespace cardcage {
namespace {

namespace json = boost::json;

constexpr const char* kFooter =
    "The module runs in a cardcage-worker, several times. The check prepares and unprepares a device for a claim of "
    "its\n"
    "own, which changes real hardware: name one that nobody uses with --device, or use --no-prepare.\n"
    "Exit codes: 0 no rule failed, 1 a rule failed or nothing could be checked, 2 wrong usage or a file that cannot be "
    "read.";
constexpr std::size_t kMaxLogged = 20;

struct CheckOptions {
  std::filesystem::path file;
  std::vector<std::string> options, programs, writes;
  std::string device;
  std::string limit = "10s";
  bool no_prepare = false;
};

// The last lines that the module and the host logged, each once. Threads of the host log, too.
class LoggedLines {
 public:
  void add(std::string_view text) {
    const std::lock_guard lock(mutex_);
    if (std::ranges::find(lines_, text) != lines_.end()) return;
    lines_.emplace_back(text);
    if (lines_.size() > kMaxLogged) lines_.erase(lines_.begin());
  }
  std::vector<std::string> all() {
    const std::lock_guard lock(mutex_);
    return lines_;
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> lines_;
};

std::string_view word_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::kPass: return "pass";
    case Verdict::kFail: return "fail";
    case Verdict::kSkipped: return "skipped";
  }
  return "";
}

// Checks that are skipped for one reason have one row: a module that does not start fails one check, and not fifty.
void add_rows(const Report& report, Table& table) {
  std::map<std::string_view, std::size_t> skipped;  // by reason
  for (const Finding& finding : report.findings)
    if (finding.outcome.verdict == Verdict::kSkipped) ++skipped[finding.outcome.evidence];
  for (const Finding& finding : report.findings) {
    std::string rule(finding.rule), statement(finding.statement);
    if (finding.outcome.verdict == Verdict::kSkipped) {
      const std::size_t alike = std::exchange(skipped[finding.outcome.evidence], 0);
      if (alike == 0) continue;
      if (alike > 1) rule = "", statement = count(alike, "check");
    }
    table.row({rule, std::string(word_of(finding.outcome.verdict)), statement, finding.outcome.evidence});
  }
}

void print_report(const Report& report, const std::vector<std::string>& logged) {
  std::string subject = report.file.filename();
  if (const auto& identity = report.identity) subject += fmt::format(": {} {}", identity->id, identity->version);
  fmt::print("{}\n", printable(subject));
  Table table({"RULE", "VERDICT", "CHECK", "EVIDENCE"});
  add_rows(report, table);
  table.print();
  fmt::print("{} passed, {} failed, {} skipped\n", report.count(Verdict::kPass), report.count(Verdict::kFail),
             report.count(Verdict::kSkipped));
  if (!logged.empty()) fmt::print("last warnings in the log:\n");
  for (const std::string& line : logged) fmt::print("  {}\n", printable(line));
}

void print_report_json(const Report& report, const std::vector<std::string>& logged) {
  json::array checks;
  for (const Finding& finding : report.findings)
    checks.push_back({{"rule", finding.rule},
                      {"name", finding.name},
                      {"statement", finding.statement},
                      {"verdict", word_of(finding.outcome.verdict)},
                      {"evidence", text_json(finding.outcome.evidence)}});
  json::value module = nullptr;
  if (const auto& identity = report.identity)
    module = {{"id", identity->id},
              {"version", identity->version},
              {"vendor", identity->vendor},
              {"sha256", identity->sha256}};
  print_json({{"file", report.file.native()},
              {"module", std::move(module)},
              {"checks", std::move(checks)},
              {"passed", report.count(Verdict::kPass)},
              {"failed", report.count(Verdict::kFail)},
              {"skipped", report.count(Verdict::kSkipped)},
              {"logged", strings_json(logged)}});
}

Status run(const Session& session, const CheckOptions& options) {
  CheckRequest request{.file = options.file, .device = options.device, .prepare = !options.no_prepare};
  request.programs.assign(options.programs.begin(), options.programs.end());
  request.writes = options.writes;
  if (const auto limit = parse_duration(options.limit)) request.limit = *limit;
  request.options = module_options(options.options);
  const auto logged = std::make_shared<LoggedLines>();  // a thread that is stuck in the disk may outlive the check
  configure_log(LogLevel::kWarn, LogFormat::kText);
  divert_log([logged](LogLevel, std::string_view message, std::initializer_list<LogField>) { logged->add(message); });
  const auto report = check_file(std::move(request));
  if (!report) return std::unexpected(report.error());
  if (session.json)
    print_report_json(*report, logged->all());
  else
    print_report(*report, logged->all());
  if (const std::size_t failed = report->count(Verdict::kFail); failed > 0)
    return fail(Code::kFailedPrecondition, "module file '{}' fails {}: see abi/RULES.md", options.file.native(),
                count(failed, "check"));
  return {};
}

// Empty if the file can be read.
std::string check_readable(const std::string& file) {
  const UniqueFd opened(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  return opened ? std::string() : fail_errno(errno, fmt::format("cannot open '{}'", file)).error().message;
}

std::string check_program(const std::string& path) {
  return std::filesystem::path(path).is_absolute() ? std::string()
                                                   : fmt::format("'{}' is not an absolute path; begin it with /", path);
}

std::string check_writes(const std::string& pattern) {
  const auto valid = check_path_pattern(pattern);
  return valid ? std::string() : valid.error().message;
}

std::string check_limit(const std::string& limit) {
  const auto duration = parse_duration(limit);
  if (!duration) return duration.error().message;
  return duration->count() > 0 ? std::string() : "a call needs some time: use 10s";
}

}  // namespace

void add_module_check(CLI::App& module, Session& session) {
  auto* command = module.add_subcommand("check", "check a module file against abi/RULES.md, without a daemon");
  command->footer(kFooter);
  auto options = std::make_shared<CheckOptions>();
  command->add_option("FILE", options->file, "the shared object")->required()->check(check_readable);
  add_module_options(*command, options->options);
  command
      ->add_option("--program", options->programs,
                   "a program that the module may run, as in the key programs of its configuration")
      ->type_name("PATH")
      ->allow_extra_args(false)
      ->check(check_program);
  command
      ->add_option("--write", options->writes,
                   "files that the module may write to, as in the key writes of its configuration")
      ->type_name("PATTERN")
      ->allow_extra_args(false)
      ->check(check_writes);
  command->add_option("--device", options->device, "the id of the device to prepare, by default the first healthy one")
      ->type_name("ID");
  command->add_flag("--no-prepare", options->no_prepare, "prepare nothing, and skip the rules about claims");
  command->add_option("--timeout", options->limit, "how long each call of the module may take")
      ->type_name("DURATION")
      ->check(check_limit)
      ->capture_default_str();
  command->callback([&session, options] { session.outcome = run(session, *options); });
}

}  // namespace cardcage
