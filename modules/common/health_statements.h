// Reports a module's view of the health of its devices to the host, without repeating healthy states.
#pragma once

#include <cardcage/sdk.hpp>
#include <map>
#include <optional>
#include <set>
#include <string>

namespace cardcage::hardware {

// For the module's thread only.
class HealthStatements {
 public:
  explicit HealthStatements(cage::Host host) : host_(host) {}

  // A healthy cause is stated once, and again when its value has changed. An unhealthy one is stated each time: a cause
  // may end with silence, and one that an operator has ended counts again only when it is repeated.
  void state(const std::string& device, const cage::Health& health);

  // Forgets the device, so that each of its causes is stated again.
  void forget(const std::string& device) { said_.erase(device); }
  // Does the same for all other devices.
  void keep(const std::set<std::string>& devices);

 private:
  // The last statement about a cause.
  struct Said {
    std::uint32_t state = CAGE_HEALTH_UNKNOWN;
    std::optional<double> value;
  };

  cage::Host host_;
  std::map<std::string, std::map<std::string, Said>> said_;  // by device id and cause
};

}  // namespace cardcage::hardware
