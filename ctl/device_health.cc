#include "ctl/device_health.h"

#include <fmt/format.h>

#include "ctl/print.h"

namespace cardcage {
namespace {

namespace json = boost::json;

std::string state_text(const admin::v1::Condition& health, const std::string& reason) {
  return reason.empty() ? health.state() : fmt::format("{} ({})", health.state(), reason);
}

json::value cause_json(const admin::v1::Cause& cause) {
  return {{"cause", cause.name()},
          {"state", cause.health().state()},
          {"level", to_json(cause.health()).at("level")},
          {"reason", cause.reason()},
          {"message", cause.health().detail()},
          {"since", time_json(cause.since())},
          {"taint", cause.taint()},
          {"taintKey", cause.taint_key()},
          {"taintValue", cause.taint_value()},
          {"ofParent", text_json(cause.of_parent())},
          {"quarantined", cause.quarantined()},
          {"value", cause.has_value() ? json::value(cause.value()) : json::value()}};
}

}  // namespace

std::string health_text(const admin::v1::Device& device) {
  return state_text(device.health(), device.health_reason()) + (device.has_cordon() ? ", cordoned" : "");
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
                                 state_text(cause.health(), cause.reason()), to_rfc3339(cause.since()));
  if (cause.has_value()) text += ", value " + value_text(cause.value(), unit);
  if (!cause.of_parent().empty()) text += ", of its parent " + cause.of_parent();
  if (cause.quarantined()) text += ", quarantined";
  if (cause.taint_effect() != admin::v1::TAINT_EFFECT_NONE)
    text += ", taint " + taint_text(cause.taint_key(),
                                    cause.taint_value().empty() ? cause.reason() : cause.taint_value(), cause.taint());
  return cause.health().detail().empty() ? text : fmt::format("{}: {}", text, cause.health().detail());
}

json::value health_json(const admin::v1::Device& device) {
  json::array causes;
  for (const auto& cause : device.causes()) causes.push_back(cause_json(cause));
  return {{"state", device.health().state()}, {"level", to_json(device.health()).at("level")},
          {"reason", device.health_reason()}, {"message", device.health().detail()},
          {"taint", device.taint()},          {"causes", std::move(causes)}};
}

json::value cordon_json(const admin::v1::Device& device) {
  if (!device.has_cordon()) return nullptr;
  const admin::v1::Cordon& cordon = device.cordon();
  return {{"by", cordon.by()}, {"reason", text_json(cordon.reason())}, {"since", time_json(cordon.since())}};
}

}  // namespace cardcage
