// cagectl reload [--dry-run]
#include "ctl/admin.h"
#include "ctl/print.h"
#include "ctl/session.h"

namespace cardcage {
namespace {

void print_reload(const admin::v1::ReloadResponse& reload) {
  for (const auto& error : reload.errors()) print_error(error);
  if (!reload.errors().empty()) return;
  if (reload.steps().empty()) return fmt::print("{}: nothing has changed\n", printable(reload.file()));
  fmt::print("{}: {}\n", printable(reload.file()), reload.applied() ? "applied" : "only planned, not applied");
  Table table(reload.applied() ? std::vector<std::string>{"ACTION", "WHAT", "HOW", "NOW"}
                               : std::vector<std::string>{"ACTION", "WHAT", "HOW"});
  for (const auto& step : reload.steps()) {
    std::vector<std::string> row{step.action(), step.subject(), step.detail()};
    if (reload.applied()) row.push_back(step.has_outcome() ? to_text(step.outcome()) : "");
    table.row(std::move(row));
  }
  table.print();
}

Status reload_config(const Session& session, bool dry_run) {
  admin::v1::ReloadRequest request;
  request.set_dry_run(dry_run);
  const auto reload = ask(session.socket, &admin::v1::Admin::Stub::Reload, request);
  if (!reload) return std::unexpected(reload.error());
  if (session.json)
    print_json(to_json(*reload));
  else
    print_reload(*reload);
  if (!reload->errors().empty())
    return fail(Code::kInvalidArgument, "{} was refused because of {}; the running configuration stays", reload->file(),
                count(static_cast<std::uint64_t>(reload->errors_size()), "error"));
  for (const auto& step : reload->steps())
    if (step.outcome().level() == "bad")
      return fail(Code::kFailedPrecondition, "{} does not run as configured; 'cagectl modules' shows why",
                  step.subject());
  return {};
}

}  // namespace

void add_reload(CLI::App& app, Session& session) {
  auto* command = app.add_subcommand("reload", "apply the configuration file and show the outcome");
  auto dry_run = std::make_shared<bool>(false);
  command->add_flag("--dry-run", *dry_run, "only show what would be done");
  command->callback([&session, dry_run] { session.outcome = reload_config(session, *dry_run); });
}

}  // namespace cardcage
