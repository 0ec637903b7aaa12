// Parts of devices as objects of resource.k8s.io write them.
#pragma once

#include <boost/json.hpp>
#include <string_view>
#include <type_traits>

#include "host/model/claim_status.h"
#include "host/model/device.h"

namespace cardcage {

// The JSON key for the type of an attribute.
template <class T>
constexpr std::string_view attribute_key() {
  if constexpr (std::is_same_v<T, std::int64_t>) return "int";
  if constexpr (std::is_same_v<T, bool>) return "bool";
  if constexpr (std::is_same_v<T, std::string>) return "string";
  if constexpr (std::is_same_v<T, SemVer>) return "version";
  if constexpr (std::is_same_v<T, std::vector<std::int64_t>>) return "ints";
  if constexpr (std::is_same_v<T, std::vector<bool>>) return "bools";
  if constexpr (std::is_same_v<T, std::vector<std::string>>) return "strings";
  if constexpr (std::is_same_v<T, std::vector<SemVer>>) return "versions";
}

// {"string": "A1"}
boost::json::value attribute_json(const AttributeValue& attribute);
boost::json::object network_json(const NetworkData& network);

}  // namespace cardcage
