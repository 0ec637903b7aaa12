// cagectl modules [--options NAME]
#include <algorithm>

#include "ctl/admin.h"
#include "ctl/print.h"
#include "ctl/session.h"
#include "host/core/duration.h"
#include "host/core/nearest.h"

namespace cardcage {
namespace {

namespace json = boost::json;
namespace wire = admin::v1;

json::value option_json(const wire::Option& option) {
  return {{"name", option.name()},         {"type", option.type()},
          {"help", option.help()},         {"default", option.default_text()},
          {"required", option.required()}, {"secret", option.secret()},
          {"live", option.live()},         {"choices", strings_json(option.choices())},
          {"min", option.min()},           {"max", option.max()},
          {"given", option.given()},       {"value", to_json(option.value())}};
}

template <class Options>
json::array options_json(const Options& options) {
  json::array array;
  for (const auto& option : options) array.push_back(option_json(option));
  return array;
}

json::value module_json(const wire::Module& module) {
  return {{"name", module.name()},
          {"state", to_json(module.state())},
          {"path", module.path()},
          {"isolation", module.isolation()},
          {"devices", module.devices()},
          {"restarts", module.restarts()},
          {"id", module.id()},
          {"version", module.version()},
          {"vendor", module.vendor()},
          {"abi", module.abi()},
          {"sha256", module.sha256()},
          {"options", options_json(module.options())},
          {"params",
           {{"apiVersion", module.params_api_version()},
            {"kind", module.params_kind()},
            {"fields", options_json(module.params())}}}};
}

bool is_duration(const wire::Option& option) { return option.type() == "duration"; }

std::string number(const wire::Option& option, std::int64_t value) {
  return is_duration(option) ? format_duration(std::chrono::nanoseconds(value)) : fmt::to_string(value);
}

std::string value(const wire::Option& option) {
  if (option.secret()) return option.given() ? "(secret)" : "";
  if (is_duration(option) && option.has_value()) return number(option, option.value().integer());
  return to_text(option.value());
}

std::string allowed(const wire::Option& option) {
  std::vector<std::string> rules;
  if (option.choices_size() > 0) rules.push_back(fmt::format("{}", fmt::join(option.choices(), " | ")));
  if (option.min() != 0 || option.max() != 0)
    rules.push_back(fmt::format("{} to {}{}", number(option, option.min()), number(option, option.max()),
                                option.type() == "string" || option.type() == "list" ? " long" : ""));
  return fmt::format("{}", fmt::join(rules, ", "));
}

std::string help(const wire::Option& option) {
  return option.live() ? option.help() + " (a change needs no restart)" : option.help();
}

template <class Options>
void print_declared(const Options& options, bool values) {
  Table table(values ? std::vector<std::string>{"NAME", "TYPE", "VALUE", "DEFAULT", "ALLOWED", "HELP"}
                     : std::vector<std::string>{"NAME", "TYPE", "DEFAULT", "ALLOWED", "HELP"});
  for (const auto& option : options) {
    const std::string fallback = option.required() ? "(required)" : option.default_text();
    if (values)
      table.row({option.name(), option.type(), value(option), fallback, allowed(option), help(option)});
    else
      table.row({option.name(), option.type(), fallback, allowed(option), help(option)});
  }
  table.print(2);
}

Status print_options(const wire::Module& module) {
  if (module.id().empty())
    return fail(Code::kFailedPrecondition, "module '{}' declares its options once it is loaded; it is {}",
                module.name(), to_text(module.state()));
  fmt::print("{} {}: {}\n", printable(module.id()), printable(module.version()),
             module.options_size() == 0 ? "no options" : "options, for [module.options]");
  if (module.options_size() > 0) print_declared(module.options(), true);
  if (module.params_size() == 0) return {};
  fmt::print("\nparameters of claims{}\n",
             module.params_kind().empty()
                 ? std::string()
                 : fmt::format(", {} {}", printable(module.params_api_version()), printable(module.params_kind())));
  print_declared(module.params(), false);
  return {};
}

void print(const wire::ListModulesResponse& list) {
  if (list.modules().empty()) return fmt::print("no modules: the configuration has no [[module]]\n");
  Table table({"MODULE", "STATE", "DEVICES", "RESTARTS", "VERSION", "ISOLATION", "FILE"});
  for (const auto& module : list.modules())
    table.row({module.name(), to_text(module.state()), fmt::to_string(module.devices()),
               fmt::to_string(module.restarts()), module.version(), module.isolation(), module.path()});
  table.print();
}

Status run(const Session& session, const std::string& options_of) {
  const auto list = ask(session.socket, &wire::Admin::Stub::ListModules);
  if (!list) return std::unexpected(list.error());
  if (options_of.empty()) {
    if (!session.json) return print(*list), Status{};
    json::array modules;
    for (const auto& module : list->modules()) modules.push_back(module_json(module));
    print_json(modules);
    return {};
  }
  std::vector<std::string> names;
  for (const auto& module : list->modules()) {
    names.push_back(module.name());
    if (module.name() != options_of) continue;
    if (!session.json) return print_options(module);
    print_json(module_json(module));
    return {};
  }
  return fail(Code::kNotFound, "no module '{}'{}", options_of, nearest_hint(options_of, names));
}

}  // namespace

void add_modules(CLI::App& app, Session& session) {
  auto* command = app.add_subcommand("modules", "the modules: state, version, file, options");
  auto name = std::make_shared<std::string>();
  command->add_option("--options", *name, "print the options that this module declares, and their values")
      ->type_name("MODULE");
  command->callback([&session, name] { session.outcome = run(session, *name); });
}

}  // namespace cardcage
