#include "host/serving/operator_attributes.h"

#include "host/core/log.h"
#include "host/model/attribute_limits.h"
#include "host/serving/select.h"

namespace cardcage {

void add_operator_attributes(const std::vector<AttributeConfig>& attributes, Device& device) {
  for (const AttributeConfig& attribute : attributes) {
    if (!matches(attribute.select, device)) continue;
    AttributeValue value = std::visit([](const auto& given) { return AttributeValue(given); }, attribute.value);
    const bool has_room = device.attributes.size() + device.capacity.size() < kMaxAttributes;
    if (has_room || device.attributes.contains(attribute.name))
      device.attributes[attribute.name] = std::move(value);
    else
      log_limited(LogLevel::kWarn, "attribute/" + attribute.name,  // few lines for all devices
                  "an attribute of the configuration is left out: the device has as many as Kubernetes allows",
                  {{"device", device.id}, {"attribute", attribute.name}});
  }
}

}  // namespace cardcage
