#include "host/instance/module_functions.h"

#include "host/core/log.h"
#include "host/model/text_rules.h"

namespace cardcage {

std::unexpected<Error> ModuleFunctions::failure(const CallContext& context, Code code, std::string_view why) const {
  return fail(code, "module '{}' cannot {}: {}", name_, context.what(), why);
}

std::unexpected<Error> ModuleFunctions::exception(const CallContext& context, const char* what) const {
  const std::string text = what == nullptr ? "" : ": " + printable_lines(what, kMaxExplanation);
  return failure(context, Code::kInternal, "it threw an exception; no exception may leave a module [R9]" + text);
}

Status ModuleFunctions::to_status(const CallContext& context, cage_status status) const {
  if (status == CAGE_OK) return {};
  const std::string text = context.explanation();
  const auto code = static_cast<Code>(status);
  if (status < 0 || status > static_cast<cage_status>(Code::kUnauthenticated))
    return failure(context, Code::kUnknown,
                   fmt::format("it returned {}, which is not a status{}{}", status, text.empty() ? "" : "; ", text));
  return failure(context, code, text.empty() ? fmt::format("{}, and {}", to_string(code), kUnexplained) : text);
}

void ModuleFunctions::destroy() {
  try {
    module_.table().destroy(std::exchange(self_, nullptr));
  } catch (...) {
    log(LogLevel::kError, "module's destroy threw an exception; none may leave a module",
        {{"module", name_}, {"rule", "R9"}});
  }
}

}  // namespace cardcage
