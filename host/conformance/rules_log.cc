// Breaches that the host has noticed and logged, in any call.
#include <fmt/ranges.h>

#include "host/conformance/rules.h"

namespace cardcage::rules {

Task<Outcome> breaks_no_other_rule(Trial& trial) {
  const std::vector<std::string> breaches = trial.breaches();
  if (breaches.empty()) co_return passed("");
  co_return broken(fmt::format("{}", fmt::join(breaches, "; ")));
}

}  // namespace cardcage::rules
