#include "host/module/program_rules.h"

#include <algorithm>

#include "host/model/text_rules.h"
#include "host/module/variables.h"

namespace cardcage {
namespace {

constexpr std::size_t kQuotedName = 80;  // how much of a wrong name an error quotes

std::unexpected<Error> may_not_run(std::string_view program) {
  return fail(Code::kPermissionDenied,
              "the module may not run '{}': add its path to the key programs of its [[module]]",
              printable(program, kQuotedName));
}

bool is_path(std::string_view assignment) { return name_of_variable(assignment) == name_of_variable(kProgramPath); }

}  // namespace

ProgramRules::ProgramRules(const ModuleConfig& config) : files_(config.programs), names_(allowed_edits(config).env) {}

Result<ProgramCommand> ProgramRules::allow(ExecAsk ask) const {
  const auto file = std::ranges::find_if(files_, [&](const auto& path) { return path.filename() == ask.program; });
  if (file == files_.end()) return may_not_run(ask.program);
  return renew({*file, std::move(ask.arguments), std::move(ask.environment)});
}

Result<ProgramCommand> ProgramRules::renew(ProgramCommand command) const {
  if (std::ranges::find(files_, command.file) == files_.end()) return may_not_run(command.file.native());
  std::erase_if(command.environment, is_path);
  for (const std::string& variable : command.environment)
    if (auto checked = check_variable(name_of_variable(variable)); !checked) return std::unexpected(checked.error());
  command.environment.emplace_back(kProgramPath);
  return command;
}

Status ProgramRules::check_variable(std::string_view name) const {
  if (runs_other_code(name))
    return fail(Code::kPermissionDenied, "the module may not set '{}' for a program: it could run any code",
                printable(name, kQuotedName));
  if (!names_ || std::ranges::find(*names_, name) != names_->end()) return {};
  return fail(Code::kPermissionDenied,
              "the module may not set '{}' for a program: add it to the key env of its [[module]]",
              printable(name, kQuotedName));
}

}  // namespace cardcage
