// Finds devices for cagectl health, and makes its JSON.
#pragma once

#include <boost/json/value.hpp>
#include <string>

#include "cardcage/admin.pb.h"
#include "host/core/result.h"

namespace cardcage {

// Returns the devices that are not healthy or are cordoned. An empty module means any.
admin::v1::ListDevicesResponse devices_in_trouble(const admin::v1::ListDevicesResponse& list,
                                                  const std::string& module);

// Finds a device by name or id. Returns null if no module lists it.
Result<const admin::v1::Device*> find_device(const admin::v1::ListDevicesResponse& list, const std::string& name,
                                             const std::string& module);

// The error for a device that neither a module nor the history knows.
std::unexpected<Error> unknown_device(const admin::v1::ListDevicesResponse& list, const std::string& name);

// Returns the JSON of `cagectl health NAME`. `device` is null if no module lists it.
boost::json::value device_health_json(const admin::v1::Device* device, const std::string& name,
                                      const admin::v1::ListHealthEventsResponse& history);

}  // namespace cardcage
