// cagectl modules [MODULE ...] [--options MODULE]
#include <algorithm>
#include <map>

#include "ctl/admin.h"
#include "ctl/print.h"
#include "ctl/session.h"
#include "host/core/duration.h"
#include "host/core/nearest.h"

namespace cardcage {
namespace {

using admin::v1::Option;

std::string labels(const admin::v1::Module& module) {
  const std::map<std::string, std::string> sorted(module.labels().begin(), module.labels().end());
  std::string text;
  for (const auto& [name, value] : sorted) text += fmt::format("{}{}={}", text.empty() ? "" : ", ", name, value);
  return text;
}

template <class Items>
std::string permitted(const Items& items) {
  return items.empty() ? "none" : fmt::format("{}", fmt::join(items, ", "));
}

std::string permitted(bool listed, const google::protobuf::ListValue& list) {
  std::vector<std::string> items;
  for (const auto& item : list.values()) items.push_back(item.string_value());
  return listed ? permitted(items) : "any";
}

std::string confinement(const admin::v1::Module& module) {
  const std::string& by = module.permissions().confined_by();
  return by.empty() ? "no" : by;
}

void print_permissions(const admin::v1::Permissions& its) {
  fmt::print("  permissions\n");
  print_facts({{"programs", permitted(its.programs())},
               {"writes", permitted(its.writes())},
               {"device nodes", permitted(its.has_device_nodes(), its.device_nodes())},
               {"mounts", permitted(its.has_mounts(), its.mounts())},
               {"hooks", permitted(its.has_hooks(), its.hooks())},
               {"net devices", permitted(its.has_net_devices(), its.net_devices())},
               {"groups", permitted(its.has_groups(), its.groups())},
               {"env", permitted(its.has_env(), its.env())}},
              4);
}

bool is_duration(const Option& option) { return option.type() == Option::duration; }

// Returns true for a type whose bounds limit the length, not the value.
bool is_measured_by_length(const Option& option) {
  return option.type() == Option::string || option.type() == Option::list || option.type() == Option::map;
}

std::string number(const Option& option, double value) {
  return is_duration(option) ? format_duration(std::chrono::nanoseconds(to_integer(value)))
                             : fmt::to_string(to_integer(value));
}

std::string value(const Option& option) {
  if (option.secret()) return option.given() ? "(secret)" : "";
  if (is_duration(option) && option.has_value()) return number(option, option.value().number_value());
  return to_text(option.value());
}

std::string allowed(const Option& option) {
  std::vector<std::string> rules;
  if (option.choices_size() > 0) rules.push_back(fmt::format("{}", fmt::join(option.choices(), " | ")));
  if (option.min() != 0 || option.max() != 0)
    rules.push_back(fmt::format("{} to {}{}", number(option, option.min()), number(option, option.max()),
                                is_measured_by_length(option) ? " long" : ""));
  return fmt::format("{}", fmt::join(rules, ", "));
}

std::string help(const Option& option) {
  if (option.class_only()) return option.help() + " (in a DeviceClass only)";
  return option.live() ? option.help() + " (a change needs no restart)" : option.help();
}

template <class Options>
void print_declared(const Options& options, bool values) {
  Table table(values ? std::vector<std::string>{"NAME", "TYPE", "VALUE", "DEFAULT", "ALLOWED", "HELP"}
                     : std::vector<std::string>{"NAME", "TYPE", "DEFAULT", "ALLOWED", "HELP"});
  for (const auto& option : options) {
    const std::string fallback = option.required() ? "(required)" : option.default_text();
    if (values)
      table.row(
          {option.name(), Option::Type_Name(option.type()), value(option), fallback, allowed(option), help(option)});
    else
      table.row({option.name(), Option::Type_Name(option.type()), fallback, allowed(option), help(option)});
  }
  table.print(2);
}

void print_params(const admin::v1::ParamsSchema& schema) {
  fmt::print("\nparameters of claims{}{}\n",
             schema.kind().empty() ? std::string()
                                   : fmt::format(", {} {}", printable(schema.api_version()), printable(schema.kind())),
             schema.device_kinds().empty()
                 ? std::string()
                 : fmt::format(", for devices of kind {}", fmt::join(schema.device_kinds(), ", ")));
  if (schema.fields_size() > 0) print_declared(schema.fields(), false);
}

Status print_options(const admin::v1::Module& module) {
  if (module.id().empty())
    return fail(Code::kFailedPrecondition, "module '{}' has not been loaded yet, so its options are unknown; it is {}",
                module.name(), to_text(module.state()));
  fmt::print("{} {}: {}\n", printable(module.id()), printable(module.version()),
             module.options_size() == 0 ? "no options" : "options, for [module.options]");
  if (module.options_size() > 0) print_declared(module.options(), true);
  for (const auto& schema : module.params()) print_params(schema);
  return {};
}

void print_modules(const admin::v1::ListModulesResponse& list) {
  if (list.modules().empty()) return fmt::print("no modules: the configuration has no [[module]]\n");
  Table table({"MODULE", "STATE", "DEVICES", "RESTARTS", "VERSION", "ISOLATION", "CONFINED", "FILE"});
  for (const auto& module : list.modules())
    table.row({module.name(), to_text(module.state()), fmt::to_string(module.devices()),
               fmt::to_string(module.restarts()), module.version(), module.isolation(), confinement(module),
               module.path()});
  table.print();
}

template <class Lines>
void print_lines(std::string_view title, const Lines& lines) {
  if (lines.empty()) return;
  fmt::print("  {}\n", title);
  for (const auto& line : lines) fmt::print("    {}  {}\n", to_rfc3339(line.time()), printable(line.text()));
}

void print_detail(const admin::v1::Module& module) {
  const admin::v1::ModuleEnd& end = module.last_end();
  fmt::print("{}\n", printable(module.name()));
  print_facts({{"state", to_text(module.state())},
               {"since", to_rfc3339(module.since())},
               {"file", module.path()},
               {"sha256", module.sha256()},
               {"version", module.id().empty() ? "" : fmt::format("{} {}", module.id(), module.version())},
               {"abi", module.abi()},
               {"isolation", module.isolation()},
               {"confined", confinement(module)},
               {"devices", fmt::to_string(module.devices())},
               {"labels", labels(module)},
               {"metrics", fmt::format("{}", fmt::join(module.metrics(), ", "))},
               {"restarts", fmt::format("{}, {} in the last 30 minutes", module.restarts(),
                                        count(module.recent_failures(), "failure"))},
               {"last failure", module.has_last_end() ? fmt::format("{}: {}", to_rfc3339(end.time()), end.how()) : ""}},
              2);
  print_permissions(module.permissions());
  if (!module.services().empty()) fmt::print("  services\n");
  for (const auto& service : module.services())
    fmt::print("    {} of claim {}  {}, {}\n", printable(service.name()), printable(service.claim_uid()),
               printable(service.state()), count(service.restarts(), "restart"));
  print_lines("last lines before it", end.lines());
  print_lines("last lines", module.lines());
}

Status print_modules(const Session& session, const admin::v1::ListModulesResponse& list,
                     const std::vector<std::string>& wanted) {
  std::vector<std::string> names;
  for (const auto& module : list.modules()) names.push_back(module.name());
  admin::v1::ListModulesResponse chosen;
  for (const std::string& name : wanted) {
    const auto module = std::ranges::find(list.modules(), name, &admin::v1::Module::name);
    if (module == list.modules().end())
      return fail(Code::kNotFound, "no module '{}'{}", name, nearest_hint(name, names));
    if (session.json)
      *chosen.add_modules() = *module;
    else
      print_detail(*module);
  }
  if (session.json) print_json(chosen, "modules");
  return {};
}

Status show_modules(const Session& session, const std::string& options_of, const std::vector<std::string>& wanted) {
  const auto list = ask(session.socket, &admin::v1::Admin::Stub::ListModules);
  if (!list) return std::unexpected(list.error());
  if (!wanted.empty()) return print_modules(session, *list, wanted);
  if (options_of.empty()) {
    if (session.json)
      print_json(*list, "modules");
    else
      print_modules(*list);
    return {};
  }
  std::vector<std::string> names;
  for (const auto& module : list->modules()) {
    names.push_back(module.name());
    if (module.name() != options_of) continue;
    if (!session.json) return print_options(module);
    print_json(to_json(module));
    return {};
  }
  return fail(Code::kNotFound, "no module '{}'{}", options_of, nearest_hint(options_of, names));
}

}  // namespace

void add_modules(CLI::App& app, Session& session) {
  auto* command = app.add_subcommand("modules", "show the modules: state, version, file, options");
  auto name = std::make_shared<std::string>();
  auto wanted = std::make_shared<std::vector<std::string>>();
  command->add_option("MODULE", *wanted, "show these in full, with their last failure and last lines");
  command->add_option("--options", *name, "show the options of this module and their values")
      ->type_name("MODULE")
      ->excludes("MODULE");
  command->callback([&session, name, wanted] { session.outcome = show_modules(session, *name, *wanted); });
}

}  // namespace cardcage
