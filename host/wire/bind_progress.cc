#include "host/wire/messages.h"

namespace cardcage {

void write(const BindProgress& from, wire::BindProgress& to) {
  for (const auto& conditions : from) {
    wire::Conditions& device = *to.add_allocations();
    for (const DeviceCondition& condition : conditions) write(condition, *device.add_conditions());
  }
}

BindProgress read(const wire::BindProgress& from) {
  BindProgress progress;
  for (const wire::Conditions& device : from.allocations()) {
    auto& conditions = progress.emplace_back();
    for (const wire::DeviceCondition& in : device.conditions()) conditions.push_back(read(in));
  }
  return progress;
}

}  // namespace cardcage
