#include "host/access/program_rules.h"

#include <algorithm>

#include "host/access/variables.h"
#include "host/model/text_rules.h"

namespace cardcage {
namespace {

constexpr std::size_t kQuotedName = 80;  // bytes of a wrong name that an error quotes

std::unexpected<Error> may_not_run(std::string_view program) {
  return fail(Code::kPermissionDenied,
              "the module may not run '{}': add its path to the key programs of its [[module]]",
              printable(program, kQuotedName));
}

bool is_path(std::string_view assignment) { return name_of_variable(assignment) == name_of_variable(kProgramPath); }

}  // namespace

ProgramRules::ProgramRules(const ModuleConfig& config, std::filesystem::path driver)
    : files_(config.programs), names_(allowed_edits(config).env), driver_(std::move(driver)) {}

Result<ProgramCommand> ProgramRules::allow(ExecAsk ask) const {
  const auto file = std::ranges::find_if(files_, [&](const auto& path) { return path.filename() == ask.program; });
  if (file == files_.end()) return may_not_run(ask.program);
  return renew({*file, std::move(ask.arguments), std::move(ask.environment), std::move(ask.input)});
}

Result<ProgramCommand> ProgramRules::renew(ProgramCommand command) const {
  if (std::ranges::find(files_, command.file) == files_.end()) return may_not_run(command.file.native());
  std::erase_if(command.environment, [&](const std::string& variable) {
    return is_path(variable) || (preloads_driver(variable) && !is_below_driver(command.file));
  });
  for (const std::string& variable : command.environment)
    if (auto checked = check_variable(variable); !checked) return std::unexpected(checked.error());
  command.environment.emplace_back(kProgramPath);
  return command;
}

// A driver's program in a container finds its libraries only by LD_PRELOAD. A library of the same driver is not other
// code; the start of the program checks that only root could have changed it. A program outside the driver's folder has
// its libraries in place and starts without LD_PRELOAD.
bool ProgramRules::preloads_driver(std::string_view assignment) const {
  return name_of_variable(assignment) == kPreload && is_below_driver(assignment.substr(kPreload.size() + 1));
}

Status ProgramRules::check_variable(std::string_view assignment) const {
  if (preloads_driver(assignment)) return {};
  const std::string_view name = name_of_variable(assignment);
  if (runs_other_code(name))
    return fail(Code::kPermissionDenied, "the module may not set '{}' for a program: it could run any code",
                printable(name, kQuotedName));
  if (!names_ || std::ranges::find(*names_, name) != names_->end()) return {};
  return fail(Code::kPermissionDenied,
              "the module may not set '{}' for a program: add it to the key env of its [[module]]",
              printable(name, kQuotedName));
}

// Returns false for a list of files: ld.so(8) separates them by ':' and ' '.
bool ProgramRules::is_below_driver(const std::filesystem::path& file) const {
  return driver_ != "/" && is_clean_path(file.native()) && file.native().find_first_of(": ") == std::string::npos &&
         file.native().starts_with(driver_.native() + "/");
}

}  // namespace cardcage
