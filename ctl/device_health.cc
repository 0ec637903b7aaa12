#include "ctl/device_health.h"

#include <fmt/format.h>

#include "ctl/print.h"

namespace cardcage {
namespace {

std::string state_text(const std::string& state, const std::string& reason) {
  return reason.empty() ? state : fmt::format("{} ({})", state, reason);
}

}  // namespace

std::string health_text(const admin::v1::Device& device) {
  return state_text(device.health().state(), device.health().reason()) + (device.has_cordon() ? ", cordoned" : "");
}

std::string cordon_text(const admin::v1::Device& device) {
  if (!device.has_cordon()) return "";
  const admin::v1::Cordon& cordon = device.cordon();
  const std::string text = fmt::format("by {} since {}", cordon.by(), to_rfc3339(cordon.since()));
  return cordon.reason().empty() ? text : fmt::format("{}: {}", text, cordon.reason());
}

std::string taint_text(const std::string& key, const std::string& value, const std::string& effect) {
  return key.empty() ? effect : fmt::format("{}{}{}:{}", key, value.empty() ? "" : "=", value, effect);
}

std::string value_text(double value, const std::string& unit) {
  return unit.empty() || unit == "1" ? fmt::to_string(value) : fmt::format("{} {}", value, unit);
}

std::string cause_text(const admin::v1::Cause& cause, const std::string& unit) {
  std::string text = fmt::format("{} {} since {}", cause.name().empty() ? "general" : cause.name(),
                                 state_text(cause.state(), cause.reason()), to_rfc3339(cause.since()));
  if (cause.has_value()) text += ", value " + value_text(cause.value(), unit);
  if (!cause.of_parent().empty()) text += ", of its parent " + cause.of_parent();
  if (cause.quarantined()) text += ", quarantined";
  if (cause.taint() != "none")
    text += ", taint " + taint_text(cause.taint_key(),
                                    cause.taint_value().empty() ? cause.reason() : cause.taint_value(), cause.taint());
  return cause.message().empty() ? text : fmt::format("{}: {}", text, cause.message());
}

}  // namespace cardcage
