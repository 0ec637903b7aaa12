// Parts of devices as objects of resource.k8s.io write them.
#pragma once

#include <array>
#include <boost/json.hpp>
#include <string_view>

#include "host/model/claim_status.h"
#include "host/model/device.h"

namespace cardcage {

// The JSON keys for the types of AttributeValue.
constexpr std::array<std::string_view, std::variant_size_v<AttributeValue>> kAttributeKeys = {
    "int", "bool", "string", "version", "ints", "bools", "strings", "versions"};

// {"string": "A1"}
boost::json::value attribute_json(const AttributeValue& attribute);
boost::json::object network_json(const NetworkData& network);

}  // namespace cardcage
