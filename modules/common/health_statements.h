// Tells the host what a module sees of the health of its devices, without repeating what is well.
#pragma once

#include <cardcage/sdk.hpp>
#include <map>
#include <optional>
#include <set>
#include <string>

namespace cardcage::hardware {

// On the module's thread only.
class HealthStatements {
 public:
  explicit HealthStatements(cage::Host host) : host_(host) {}

  // What is well is stated once, and again when its value has changed. What is not is stated each time: a cause may end
  // with silence, and one that an operator has ended counts again only when it is repeated.
  void state(const std::string& device, const cage::Health& health);

  // Each cause of the device is stated anew.
  void forget(const std::string& device) { said_.erase(device); }
  // The same for all other devices.
  void keep(const std::set<std::string>& devices);

 private:
  // What was stated of a cause last.
  struct Said {
    std::uint32_t state = CAGE_HEALTH_UNKNOWN;
    std::optional<double> value;
  };

  cage::Host host_;
  std::map<std::string, std::map<std::string, Said>> said_;  // by device id and cause
};

}  // namespace cardcage::hardware
