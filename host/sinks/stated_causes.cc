#include "host/sinks/stated_causes.h"

#include "host/core/log.h"

namespace cardcage {

StatedCauses::StatedCauses(std::string module, const std::vector<CauseDeclaration>& declared)
    : module_(std::move(module)) {
  for (const CauseDeclaration& cause : declared) has_unit_[cause.name] = !cause.unit.empty();
}

void StatedCauses::check(Health& health) const {
  const auto found = has_unit_.find(health.cause);
  const bool declared = found != has_unit_.end();
  const auto warn = [&](std::string_view text) {
    log_limited(LogLevel::kWarn, module_ + "/causes", text,
                {{"module", module_}, {"cause", health.cause}, {"rule", "R23"}});
  };
  if (!declared && !has_unit_.empty() && !health.cause.empty()) warn("module states a cause that it does not declare");
  if (!health.value || (declared && found->second)) return;
  warn("value of a statement is ignored: the module declares no unit for the cause");
  health.value.reset();
}

}  // namespace cardcage
