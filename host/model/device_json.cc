#include "host/model/device_json.h"

namespace cardcage {
namespace {

namespace json = boost::json;

json::value scalar_json(std::int64_t value) { return value; }
json::value scalar_json(bool value) { return value; }
json::value scalar_json(const std::string& value) { return json::value(value); }
json::value scalar_json(const SemVer& value) { return json::value(value.text); }
template <class T>
json::value scalar_json(const std::vector<T>& values) {
  json::array array;
  for (const T& value : values) array.push_back(scalar_json(value));
  return array;
}

}  // namespace

json::value attribute_json(const AttributeValue& attribute) {
  return json::object{{kAttributeKeys.at(attribute.index()),
                       std::visit([](const auto& value) { return scalar_json(value); }, attribute)}};
}

json::object network_json(const NetworkData& network) {
  json::object object;
  if (!network.interface_name.empty()) object["interfaceName"] = network.interface_name;
  if (!network.ips.empty()) object["ips"] = json::array(network.ips.begin(), network.ips.end());
  if (!network.hardware_address.empty()) object["hardwareAddress"] = network.hardware_address;
  return object;
}

}  // namespace cardcage
