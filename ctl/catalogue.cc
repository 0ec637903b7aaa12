// cagectl catalogue [MODULE]
#include <map>

#include "ctl/admin.h"
#include "ctl/print.h"
#include "ctl/session.h"

namespace cardcage {
namespace {

namespace json = boost::json;

std::string state(const admin::v1::CatalogueEntry& entry) { return entry.refused() ? "refused" : "usable"; }

json::value catalogue_entry_json(const admin::v1::CatalogueEntry& entry) {
  json::object attributes;
  const std::map<std::string, admin::v1::Value> sorted(entry.attributes().begin(), entry.attributes().end());
  for (const auto& [name, value] : sorted) attributes[name] = to_json(value);
  return {{"kind", entry.kind()},
          {"name", entry.name()},
          {"state", state(entry)},
          {"detail", entry.detail()},
          {"attributes", std::move(attributes)}};
}

json::value module_catalogue_json(const admin::v1::ModuleCatalogue& module) {
  json::array entries;
  for (const auto& entry : module.entries()) entries.push_back(catalogue_entry_json(entry));
  return {{"module", module.module()},
          {"problem", text_json(module.problem())},
          {"entries", std::move(entries)},
          {"leftOut", module.left_out()},
          {"firstLeftOut", text_json(module.first_left_out())}};
}

void print_catalogue(const admin::v1::ListCatalogueResponse& list, std::uint64_t unknown) {
  Table table({"MODULE", "KIND", "NAME", "STATE", "DETAIL"});
  int entries = 0;
  for (const auto& module : list.modules())
    for (const auto& entry : module.entries()) {
      table.row({module.module(), entry.kind(), entry.name(), state(entry), entry.detail()});
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
  json::array modules;
  std::uint64_t unknown = 0;
  for (const auto& module : list->modules()) {
    modules.push_back(module_catalogue_json(module));
    unknown += module.problem().empty() ? 0 : 1;
  }
  if (session.json)
    print_json(modules);
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
