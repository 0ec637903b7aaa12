// What operators see of a DRA driver.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "host/slices/slice_publisher.h"
#include "host/view/daemon_view.h"
#include "host/view/registration_condition.h"

namespace cardcage {

struct DriverFacts {
  std::string name;
  std::vector<std::string> modules;  // whose rules name it; none once it is no longer configured
  std::optional<ServerFacts> server;
  std::optional<Error> server_error;
  PublisherStatus published;
  std::map<std::string, std::string> shared_pools;  // the other node that publishes one, by pool
};
DriverReport driver_report(const DriverFacts& facts);

}  // namespace cardcage
