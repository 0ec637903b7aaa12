// cagectl catalogue [MODULE]
#include "ctl/admin.h"
#include "ctl/print.h"
#include "ctl/session.h"

namespace cardcage {
namespace {

void print_catalogue(const admin::v1::ListCatalogueResponse& list, std::uint64_t unknown) {
  Table table({"MODULE", "KIND", "NAME", "STATE", "DETAIL"});
  int entries = 0;
  for (const auto& module : list.modules())
    for (const auto& entry : module.entries()) {
      table.row({module.module(), entry.kind(), entry.name(), entry.state(), entry.detail()});
      ++entries;
    }
  if (entries > 0)
    table.print();
  else if (unknown == 0)
    fmt::print("no entries\n");
  for (const auto& module : list.modules())
    if (module.left_out() > 0)
      fmt::print("warning: module '{}': {} left out, the first: {}\n", printable(module.module()),
                 module.left_out() == 1 ? "1 entry is" : fmt::format("{} entries are", module.left_out()),
                 printable(module.first_left_out()));
}

Status show_catalogue(const Session& session, const std::string& wanted) {
  admin::v1::ListCatalogueRequest request;
  request.set_module(wanted);
  const auto list = ask(session.socket, &admin::v1::Admin::Stub::ListCatalogue, request);
  if (!list) return std::unexpected(list.error());
  std::uint64_t unknown = 0;
  for (const auto& module : list->modules()) unknown += module.problem().empty() ? 0 : 1;
  if (session.json)
    print_json(*list, "modules");
  else
    print_catalogue(*list, unknown);
  if (unknown == 0) return {};
  for (const auto& module : list->modules())
    if (!module.problem().empty()) print_error(module.problem());
  return fail(Code::kFailedPrecondition, "the catalogue of {} is not known", count(unknown, "module"));
}

}  // namespace

void add_catalogue(CLI::App& app, Session& session) {
  auto* command =
      app.add_subcommand("catalogue", "show what claims may name, such as bitstreams, and what is wrong with the rest");
  auto module = std::make_shared<std::string>();
  command->add_option("MODULE", *module, "only what this module lists");
  command->callback([&session, module] { session.outcome = show_catalogue(session, *module); });
}

}  // namespace cardcage
