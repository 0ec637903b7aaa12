// Reads the state of whole network cards from their drivers (devlink).
//
// Source: Documentation/networking/devlink and include/uapi/linux/devlink.h of the kernel.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "modules/nic/netlink/socket.h"

namespace cardcage::nic {

// A part of a card that its driver watches, such as the firmware.
struct HealthReporter {
  std::string name;  // "fw", "fw_fatal", "tx", "rx"; drivers choose them
  bool is_in_error = false;
  std::uint64_t errors = 0, recoveries = 0;  // counts since the driver was bound
};

// Reporters by the name of the card: "pci/0000:41:00.0".
using HealthReporters = std::map<std::string, std::vector<HealthReporter>>;

class Devlink {
 public:
  // Throws std::system_error: ENOENT if the kernel has no devlink.
  Devlink();

  std::vector<std::string> cards();
  // Returns "legacy" or "switchdev"; empty if the card has no such switch.
  std::string eswitch_mode(const std::string& card);
  HealthReporters reporters();

  // Makes receive() report changes from now on. Afterwards the object must not make other requests.
  void watch();
  int descriptor() const { return socket_.descriptor(); }
  // Returns whether a reporter has changed since the last call. Does not wait.
  bool receive();

 private:
  void dump(std::uint8_t command, const NetlinkSocket::OnMessage& on_message);

  NetlinkSocket socket_{NetlinkSocket::Protocol::kGeneric};
  std::uint16_t family_ = 0;
  int group_ = 0;
};

}  // namespace cardcage::nic
