// The state of a device-plugin resource, for operators.
#pragma once

#include <string>

#include "host/plugin/device_list.h"
#include "host/view/daemon_view.h"
#include "host/view/registration_condition.h"

namespace cardcage {

struct ResourceFacts {
  std::string name, module;  // module is empty once the resource is no longer configured
  std::optional<ServerFacts> server;
  std::optional<RegistrationWay> way;  // the server's current way
  std::optional<Error> server_error;
  DeviceListPtr devices;  // never null
  std::size_t handed_out = 0;
};
ResourceReport resource_report(const ResourceFacts& facts);

}  // namespace cardcage
