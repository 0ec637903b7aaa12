// The state of a DRA driver, for operators.
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
  std::vector<std::string> modules;  // modules whose rules name it; empty once it is no longer configured
  std::optional<ServerFacts> server;
  std::optional<Error> server_error;
  PublisherStatus published;
  std::map<std::string, std::string> shared_pools;  // by pool: the other node that publishes it
};
DriverReport driver_report(const DriverFacts& facts);

}  // namespace cardcage
