// The settings of a card for the traffic of its virtual functions (SR-IOV), which the interface of its physical
// function has. Drivers differ in the settings that they allow.
//
// Source: include/uapi/linux/if_link.h of the kernel, "SR-IOV virtual function management section".
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "modules/nic/netlink/socket.h"

namespace cardcage::nic {

struct VirtualFunction {
  std::string mac;  // all zeros if the card has set none
  std::uint32_t vlan = 0, qos = 0;
  bool spoof_check = false, trust = false;
  std::uint32_t link_state = 0;              // IFLA_VF_LINK_STATE_*
  std::uint32_t min_rate = 0, max_rate = 0;  // Mbit/s; 0 = no bound
  // InfiniBand GUIDs with the first byte in the highest bits; 0 if the driver does not tell. The function's own driver
  // reads them when it is bound.
  std::uint64_t node_guid = 0, port_guid = 0;
  friend bool operator==(const VirtualFunction&, const VirtualFunction&) = default;
};

// Journals of claims contain the values, so they must not change.
enum class VfAttribute : std::uint8_t { kMac, kVlan, kSpoofCheck, kTrust, kLinkState, kRates, kNodeGuid, kPortGuid };
inline constexpr VfAttribute kVfAttributes[] = {
    VfAttribute::kMac,       VfAttribute::kVlan,  VfAttribute::kSpoofCheck, VfAttribute::kTrust,
    VfAttribute::kLinkState, VfAttribute::kRates, VfAttribute::kNodeGuid,   VfAttribute::kPortGuid};
// Returns the name in parameters: "vf.trust".
const char* name_of(VfAttribute attribute);
bool is_same(VfAttribute attribute, const VirtualFunction& one, const VirtualFunction& other);

// Reads all virtual functions of a card, by number; `card` is the index of the physical function's interface. The
// kernel sends all of them in one message. Throws std::system_error.
using VirtualFunctions = std::map<std::uint32_t, VirtualFunction>;
VirtualFunctions read_virtual_functions(NetlinkSocket& socket, std::uint32_t card);
// Sets one attribute to its value in `wanted`. Throws std::system_error: EOPNOTSUPP if the driver cannot.
void set_virtual_function(NetlinkSocket& socket, std::uint32_t card, std::uint32_t number, VfAttribute attribute,
                          const VirtualFunction& wanted);

}  // namespace cardcage::nic
