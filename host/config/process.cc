// [module.process]: restricts a module's own process.
#include <sys/capability.h>

#include <algorithm>

#include "host/config/sections.h"
#include "host/core/ascii.h"
#include "host/core/nearest.h"

namespace cardcage {
namespace {

bool is_variable(std::string_view name) {
  const auto fits = [](char c) { return c == '_' || is_alphanumeric(c); };
  return !name.empty() && std::ranges::all_of(name, fits) && !is_digit(name.front());
}

void read_environment(TableReader& table, ProcessConfig& process) {
  for (const auto& name : table.strings("environment")) {
    if (!is_variable(name.value))
      table.refuse("environment", name.position,
                   fmt::format("'{}' is not the name of an environment variable", name.value));
    process.environment.push_back(name.value);
  }
}

void read_limits(TableReader limits, ProcessConfig& process) {
  for (const auto& [word, resource] : kProcessLimits) {
    const auto value = limits.integer(word);
    if (!value) continue;
    if (value->value < 0)
      limits.refuse(word, value->position, fmt::format("{} is negative; write 0 or more", value->value));
    else
      process.limits[std::string(word)] = static_cast<std::uint64_t>(value->value);
  }
  limits.refuse_unknown_keys();
}

void read_capabilities(TableReader& table, ProcessConfig& process) {
  if (!table.has("capabilities")) {
    table.strings("capabilities");
    return;
  }
  process.capabilities.emplace();
  for (const auto& name : table.strings("capabilities")) {
    cap_value_t number = 0;
    if (!name.value.starts_with("CAP_") || ::cap_from_name(name.value.c_str(), &number) != 0)
      table.refuse(
          "capabilities", name.position,
          fmt::format("'{}' is not a capability; write it as in capabilities(7), like \"CAP_SYS_ADMIN\"", name.value));
    process.capabilities->push_back(name.value);
  }
}

void read_user(TableReader& table, ProcessConfig& process) {
  const auto user = table.string("user");
  if (!user) return;
  process.user = user->value;
  const auto fits = [](char c) { return is_alphanumeric(c) || c == '_' || c == '-' || c == '.'; };
  if (user->value.empty() || user->value.front() == '-' || !std::ranges::all_of(user->value, fits))
    table.refuse("user", user->position,
                 fmt::format("'{}' is not the name of a user; write a name of passwd(5)", user->value));
}

}  // namespace

void read_process(TableReader table, ModuleConfig& module) {
  if (table.raw() && module.isolation != Isolation::kProcess)
    table.refuse(
        "environment", table.position(),
        "a module inside the daemon has no process of its own; set isolation = \"process\", or remove the table");
  read_environment(table, module.process);
  read_limits(table.table("limits"), module.process);
  read_user(table, module.process);
  read_capabilities(table, module.process);
  if (const auto seccomp = table.boolean("seccomp")) module.process.seccomp = seccomp->value;
  table.refuse_unknown_keys();
}

}  // namespace cardcage
