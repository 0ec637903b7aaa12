// cagectl module check FILE: the rules of abi/RULES.md, checked on a module file without a daemon.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>

#include "ctl/junit.h"
#include "ctl/module_options.h"
#include "ctl/print.h"
#include "ctl/session.h"
#include "host/conformance/check_file.h"
#include "host/conformance/rule.h"
#include "host/core/duration.h"
#include "host/core/file.h"
#include "host/core/nearest.h"

namespace cardcage {
namespace {

namespace json = boost::json;

constexpr const char* kCheckFooter =
    "The module runs in a cardcage-worker, several times. The check prepares and unprepares two devices for claims of "
    "its\n"
    "own, which changes real hardware: name unused ones with --device, or use --no-prepare.\n"
    "--in-process runs it in cagectl, for debuggers and sanitizers, and names each check on stderr as it begins.\n"
    "Exit codes: 0 no rule failed, 1 a rule failed or nothing could be checked, 2 wrong usage or a file that cannot be "
    "read.";

struct CheckOptions {
  ModuleFile module;
  std::vector<std::string> devices, rules;
  std::filesystem::path junit;
  std::string limit = "10s";
  bool all_devices = false, in_process = false, no_prepare = false, only_failed = false;
};

std::string_view word_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::kPass: return "pass";
    case Verdict::kFail: return "fail";
    case Verdict::kSkipped: return "skipped";
  }
  return "";
}

// Returns the findings to show, failures first.
std::vector<Finding> shown_findings(const Report& report, bool only_failed) {
  const auto failed = [](const Finding& finding) { return finding.outcome.verdict == Verdict::kFail; };
  std::vector<Finding> findings;
  std::ranges::copy_if(report.findings, std::back_inserter(findings), failed);
  if (!only_failed) std::ranges::remove_copy_if(report.findings, std::back_inserter(findings), failed);
  return findings;
}

// Joins checks that are skipped for the same reason in one row: a module that does not start fails one check, not
// fifty.
void add_rows(const std::vector<Finding>& findings, Table& table) {
  std::map<std::string_view, std::size_t> skipped;  // count by reason
  for (const Finding& finding : findings)
    if (finding.outcome.verdict == Verdict::kSkipped) ++skipped[finding.outcome.evidence];
  for (const Finding& finding : findings) {
    std::string rule(finding.rule), statement(finding.statement);
    if (finding.outcome.verdict == Verdict::kSkipped) {
      const std::size_t alike = std::exchange(skipped[finding.outcome.evidence], 0);
      if (alike == 0) continue;
      if (alike > 1) rule = "", statement = count(alike, "check");
    }
    table.row({rule, std::string(word_of(finding.outcome.verdict)), statement, finding.outcome.evidence});
  }
}

void print_report(const Report& report, const std::vector<Finding>& findings) {
  std::string subject = report.file.filename();
  if (const auto& identity = report.identity) subject += fmt::format(": {} {}", identity->id, identity->version);
  fmt::print("{}\n", printable(subject));
  Table table({"RULE", "VERDICT", "CHECK", "EVIDENCE"});
  add_rows(findings, table);
  if (!findings.empty()) table.print();
  fmt::print("{} passed, {} failed, {} skipped\n", report.count(Verdict::kPass), report.count(Verdict::kFail),
             report.count(Verdict::kSkipped));
  if (!report.logged.empty()) fmt::print("last warnings in the log:\n");
  for (const std::string& line : report.logged) fmt::print("  {}\n", printable(line));
}

void print_report_json(const Report& report, const std::vector<Finding>& findings) {
  json::array checks;
  for (const Finding& finding : findings)
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
              {"isolation", report.in_process ? "in-process" : "process"},
              {"module", std::move(module)},
              {"checks", std::move(checks)},
              {"passed", report.count(Verdict::kPass)},
              {"failed", report.count(Verdict::kFail)},
              {"skipped", report.count(Verdict::kSkipped)},
              {"logged", strings_json(report.logged)}});
}

CheckRequest request_of(const CheckOptions& options) {
  CheckRequest request{.file = options.module.file,
                       .devices = options.devices,
                       .all_devices = options.all_devices,
                       .prepare = !options.no_prepare,
                       .in_process = options.in_process,
                       .rules = options.rules};
  // After a crash of the module, the last line names the check.
  if (options.in_process)
    request.begins = [](std::string_view number, std::string_view name, std::string_view statement) {
      fmt::print(stderr, "{:4}{:20}{}\n", number, name, statement);
    };
  request.programs.assign(options.module.programs.begin(), options.module.programs.end());
  request.writes = options.module.writes;
  if (const auto limit = parse_duration(options.limit)) request.limit = *limit;
  request.options = module_options(options.module.options);
  return request;
}

std::atomic<bool> checks_in_process = false;

// Lets no module pass by calling exit(0).
void refuse_exit() {
  if (!checks_in_process) return;
  fmt::print(stderr, "cagectl: the module ended this process with exit(3), in the check that is named last [R9]\n");
  std::_Exit(kExitError);
}

Result<Report> check_in_process(const CheckOptions& options, Session& session) {
  if (std::atexit(refuse_exit) != 0) return fail(Code::kResourceExhausted, "memory is short");
  checks_in_process = true;
  auto report = check_file(request_of(options));
  checks_in_process = false;
  std::error_code failed;
  const std::filesystem::directory_iterator threads("/proc/self/task", failed), end;
  session.has_threads_of_module = !failed && std::distance(threads, end) > 1;
  return report;
}

Status check_module(Session& session, const CheckOptions& options) {
  // The module may change the working folder.
  const auto junit = options.junit.empty() ? options.junit : std::filesystem::absolute(options.junit);
  const auto report = options.in_process ? check_in_process(options, session) : check_file(request_of(options));
  if (!report) return std::unexpected(report.error());
  if (!options.junit.empty())
    if (auto written = write_file_atomically(junit, junit_xml(*report), 0644, false); !written) return written;
  const std::vector<Finding> findings = shown_findings(*report, options.only_failed);
  if (session.json)
    print_report_json(*report, findings);
  else
    print_report(*report, findings);
  if (const std::size_t failed = report->count(Verdict::kFail); failed > 0)
    return fail(Code::kFailedPrecondition, "module file '{}' fails {}: see abi/RULES.md", options.module.file.native(),
                count(failed, "check"));
  return {};
}

std::string check_rule(const std::string& rule) {
  std::vector<std::string> known;
  for (const Rule& one : all_rules()) {
    if (one.number == rule || one.name == rule) return "";
    known.emplace_back(one.name);
  }
  return fmt::format("no rule '{}'{}; abi/RULES.md has their numbers", rule, nearest_hint(rule, known));
}

std::string check_limit(const std::string& limit) {
  const auto duration = parse_duration(limit);
  if (!duration) return duration.error().message;
  return duration->count() > 0 ? std::string() : "a call needs some time: use 10s";
}

}  // namespace

void add_module_check(CLI::App& module, Session& session) {
  auto* command = module.add_subcommand("check", "check a module file against abi/RULES.md, without a daemon");
  command->footer(kCheckFooter);
  auto options = std::make_shared<CheckOptions>();
  add_module_file(*command, options->module);
  command
      ->add_option(
          "--device", options->devices,
          "the id of a device to prepare; repeat it for more, the first two are also prepared for one claim; by "
          "default healthy devices")
      ->type_name("ID")
      ->allow_extra_args(false);
  command->add_flag("--all-devices", options->all_devices, "prepare every device that is not unhealthy")
      ->excludes("--device");
  command->add_flag("--in-process", options->in_process, "run the module in this process, without a worker");
  command->add_flag("--no-prepare", options->no_prepare, "prepare nothing, and skip the rules about claims");
  command
      ->add_option("--rule", options->rules,
                   "check this rule alone, and those that it needs: a number as R14, or a name")
      ->type_name("RULE")
      ->allow_extra_args(false)
      ->check(check_rule);
  command->add_flag("--only-failed", options->only_failed, "show the checks that failed, and no others");
  command->add_option("--junit", options->junit, "also write the report to this file, as JUnit's XML")
      ->type_name("FILE");
  command->add_option("--timeout", options->limit, "how long each call of the module may take")
      ->type_name("DURATION")
      ->check(check_limit)
      ->capture_default_str();
  command->callback([&session, options] { session.outcome = check_module(session, *options); });
}

}  // namespace cardcage
