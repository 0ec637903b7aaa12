#include "modules/common/health_statements.h"

#include <cmath>

namespace cardcage::hardware {

void HealthStatements::state(const std::string& device, const cage::Health& health) {
  constexpr double kNoticeable = 1;  // in the unit of the cause
  Said& said = said_[device][health.cause];
  const bool is_same_value = said.value && health.value ? std::abs(*said.value - *health.value) < kNoticeable
                                                        : said.value.has_value() == health.value.has_value();
  if (health.state == CAGE_HEALTH_OK && said.state == CAGE_HEALTH_OK && is_same_value) return;
  said = {.state = health.state, .value = health.value};
  host_.health(device, health);
}

void HealthStatements::keep(const std::set<std::string>& devices) {
  std::erase_if(said_, [&](const auto& entry) { return !devices.contains(entry.first); });
}

}  // namespace cardcage::hardware
