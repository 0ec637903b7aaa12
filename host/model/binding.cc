#include "host/model/binding.h"

#include <fmt/format.h>

#include <set>

#include "host/model/naming.h"

namespace cardcage {

std::optional<std::string> flaw_of(const Binding& binding) {
  if (binding.empty()) return std::nullopt;
  std::set<std::string_view> seen;
  for (const auto& [what, types] :
       {std::pair("binding conditions", &binding.conditions), std::pair("binding failures", &binding.failures)}) {
    if (types->empty() || types->size() > kMaxBindingConditions)
      return fmt::format("it has {} {}, 1 to {} are allowed", types->size(), what, kMaxBindingConditions);
    for (const std::string& type : *types) {
      if (!is_label_key(type))
        return fmt::format("'{}' among its {} is not the type of a condition, such as Ready or example.com/Attached",
                           type, what);
      if (!seen.insert(type).second) return fmt::format("condition '{}' comes twice in its binding", type);
    }
  }
  return std::nullopt;
}

}  // namespace cardcage
