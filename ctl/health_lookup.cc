#include "ctl/health_lookup.h"

#include "ctl/device_health.h"
#include "ctl/print.h"
#include "host/core/nearest.h"

namespace cardcage {

namespace json = boost::json;

admin::v1::ListDevicesResponse devices_in_trouble(const admin::v1::ListDevicesResponse& list,
                                                  const std::string& module) {
  admin::v1::ListDevicesResponse found;
  for (const auto& device : list.devices())
    if ((module.empty() || device.module() == module) && (!is_healthy(device.health()) || device.has_cordon()))
      *found.add_devices() = device;
  return found;
}

Result<const admin::v1::Device*> find_device(const admin::v1::ListDevicesResponse& list, const std::string& name,
                                             const std::string& module) {
  const admin::v1::Device* found = nullptr;
  for (const auto& device : list.devices()) {
    if (device.name() != name && device.id() != name) continue;
    if (!module.empty() && device.module() != module) continue;
    if (found != nullptr)
      return fail(Code::kInvalidArgument, "modules '{}' and '{}' both list a device '{}'; name one with --module",
                  found->module(), device.module(), name);
    found = &device;
  }
  return found;
}

std::unexpected<Error> unknown_device(const admin::v1::ListDevicesResponse& list, const std::string& name) {
  std::vector<std::string> known;
  for (const auto& device : list.devices()) known.insert(known.end(), {device.name(), device.id()});
  return fail(Code::kNotFound, "no device '{}'{}: no module lists it, and the history does not name it", name,
              nearest_hint(name, known));
}

json::value device_health_json(const admin::v1::Device* device, const std::string& name,
                               const admin::v1::ListHealthEventsResponse& history) {
  json::value made = device ? to_json(*device) : json::object{{"name", name}};
  made.as_object()["listed"] = device != nullptr;
  made.as_object()["events"] = to_json(history).at("events");
  return made;
}

}  // namespace cardcage
