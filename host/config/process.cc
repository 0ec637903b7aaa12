// [module.process]: restricts a module's own process.
#include <sys/capability.h>

#include <algorithm>

#include "host/config/fields.h"
#include "host/config/sections.h"
#include "host/core/ascii.h"

namespace cardcage {
namespace {

Status check_environment(std::string_view name) {
  const auto fits = [](char c) { return c == '_' || is_alphanumeric(c); };
  if (!name.empty() && !is_digit(name.front()) && std::ranges::all_of(name, fits)) return {};
  return fail(Code::kInvalidArgument, "'{}' is not the name of an environment variable", name);
}

Status check_capability(std::string_view name) {
  cap_value_t number = 0;
  if (name.starts_with("CAP_") && ::cap_from_name(std::string(name).c_str(), &number) == 0) return {};
  return fail(Code::kInvalidArgument,
              "'{}' is not a capability; write it as in capabilities(7), like \"CAP_SYS_ADMIN\"", name);
}

Status check_user(std::string_view name) {
  const auto fits = [](char c) { return is_alphanumeric(c) || c == '_' || c == '-' || c == '.'; };
  if (!name.empty() && name.front() != '-' && std::ranges::all_of(name, fits)) return {};
  return fail(Code::kInvalidArgument, "'{}' is not the name of a user; write a name of passwd(5)", name);
}

void read_flag(TableReader& table, std::string_view key, bool& flag) {
  if (const auto given = table.boolean(key)) flag = given->value;
}

void read_limits(TableReader& parent, std::string_view key, std::map<std::string, std::uint64_t>& values) {
  TableReader limits = parent.table(key);
  for (const auto& [word, resource] : kProcessLimits) {
    const auto value = limits.integer(word);
    if (!value) continue;
    if (value->value < 0)
      limits.refuse(word, value->position, fmt::format("{} is negative; write 0 or more", value->value));
    else
      values[std::string(word)] = static_cast<std::uint64_t>(value->value);
  }
  limits.refuse_unknown_keys();
}

constexpr std::tuple kProcess{
    field<&ProcessConfig::environment>("environment", texts(check_environment)),
    field<&ProcessConfig::limits>("limits", read_limits),
    field<&ProcessConfig::user>("user", text(check_user)),
    field<&ProcessConfig::capabilities>("capabilities", optional_list(texts(check_capability))),
    field<&ProcessConfig::seccomp>("seccomp", read_flag),
};

}  // namespace

void read_process(TableReader& parent, std::string_view key, ProcessConfig& process, const ModuleConfig& module) {
  TableReader table = parent.table(key);
  if (table.raw() && module.isolation != Isolation::kProcess)
    table.refuse(
        "environment", table.position(),
        "a module inside the daemon has no process of its own; set isolation = \"process\", or remove the table");
  read_fields(table, process, kProcess);
  table.refuse_unknown_keys();
}

}  // namespace cardcage
