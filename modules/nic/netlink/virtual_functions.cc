#include "modules/nic/netlink/virtual_functions.h"

#include <linux/if_link.h>
#include <linux/rtnetlink.h>

#include <algorithm>
#include <cstring>
#include <tuple>

#include "modules/nic/netlink/links.h"

namespace cardcage::nic {
namespace {

template <class T>
T payload_of(const nlattr& attribute) {
  T value{};
  std::memcpy(&value, mnl_attr_get_payload(&attribute),
              std::min<std::size_t>(sizeof value, mnl_attr_get_payload_len(&attribute)));
  return value;
}

// Reads one entry of IFLA_VFINFO_LIST, and returns the number of its function.
std::uint32_t read_entry(const nlattr& entry, VirtualFunction& function) {
  constexpr std::size_t kEthernet = 6;
  std::uint32_t number = 0;
  for_each_nested(entry, [&](const nlattr& attribute) {
    switch (mnl_attr_get_type(&attribute)) {
      case IFLA_VF_MAC: {
        const auto mac = payload_of<ifla_vf_mac>(attribute);
        number = mac.vf;
        function.mac = mac_text({mac.mac, kEthernet});
        break;
      }
      case IFLA_VF_VLAN: {
        const auto vlan = payload_of<ifla_vf_vlan>(attribute);
        function.vlan = vlan.vlan;
        function.qos = vlan.qos;
        break;
      }
      case IFLA_VF_SPOOFCHK: function.spoof_check = payload_of<ifla_vf_spoofchk>(attribute).setting == 1; break;
      case IFLA_VF_TRUST: function.trust = payload_of<ifla_vf_trust>(attribute).setting == 1; break;
      case IFLA_VF_LINK_STATE: function.link_state = payload_of<ifla_vf_link_state>(attribute).link_state; break;
      case IFLA_VF_RATE: {
        const auto rate = payload_of<ifla_vf_rate>(attribute);
        function.min_rate = rate.min_tx_rate;
        function.max_rate = rate.max_tx_rate;
        break;
      }
      case IFLA_VF_IB_NODE_GUID: function.node_guid = payload_of<ifla_vf_guid>(attribute).guid; break;
      case IFLA_VF_IB_PORT_GUID: function.port_guid = payload_of<ifla_vf_guid>(attribute).guid; break;
      default: break;
    }
  });
  return number;
}

template <class T>
void put(nlmsghdr& message, std::uint16_t type, const T& value) {
  mnl_attr_put(&message, type, sizeof value, &value);
}

void put_guid(nlmsghdr& message, std::uint16_t type, std::uint32_t number, std::uint64_t guid) {
  ifla_vf_guid value;
  std::memset(&value, 0, sizeof value);  // the struct has padding
  value.vf = number;
  value.guid = guid;
  put(message, type, value);
}

void put(nlmsghdr& message, std::uint32_t number, VfAttribute attribute, const VirtualFunction& wanted) {
  switch (attribute) {
    case VfAttribute::kMac: {
      ifla_vf_mac mac{.vf = number, .mac = {}};
      const std::vector<unsigned char> bytes = mac_bytes(wanted.mac);
      std::copy_n(bytes.begin(), std::min(bytes.size(), sizeof mac.mac), mac.mac);
      return put(message, IFLA_VF_MAC, mac);
    }
    case VfAttribute::kVlan:
      return put(message, IFLA_VF_VLAN, ifla_vf_vlan{.vf = number, .vlan = wanted.vlan, .qos = wanted.qos});
    case VfAttribute::kSpoofCheck:
      return put(message, IFLA_VF_SPOOFCHK, ifla_vf_spoofchk{.vf = number, .setting = wanted.spoof_check ? 1U : 0U});
    case VfAttribute::kTrust:
      return put(message, IFLA_VF_TRUST, ifla_vf_trust{.vf = number, .setting = wanted.trust ? 1U : 0U});
    case VfAttribute::kLinkState:
      return put(message, IFLA_VF_LINK_STATE, ifla_vf_link_state{.vf = number, .link_state = wanted.link_state});
    case VfAttribute::kRates:
      return put(message, IFLA_VF_RATE,
                 ifla_vf_rate{.vf = number, .min_tx_rate = wanted.min_rate, .max_tx_rate = wanted.max_rate});
    case VfAttribute::kNodeGuid: return put_guid(message, IFLA_VF_IB_NODE_GUID, number, wanted.node_guid);
    case VfAttribute::kPortGuid: return put_guid(message, IFLA_VF_IB_PORT_GUID, number, wanted.port_guid);
  }
}

}  // namespace

const char* name_of(VfAttribute attribute) {
  switch (attribute) {
    case VfAttribute::kMac: return "interface.mac";
    case VfAttribute::kVlan: return "vf.vlan";
    case VfAttribute::kSpoofCheck: return "vf.spoofCheck";
    case VfAttribute::kTrust: return "vf.trust";
    case VfAttribute::kLinkState: return "vf.linkState";
    case VfAttribute::kRates: return "vf.minTxRate, vf.maxTxRate";
    case VfAttribute::kNodeGuid: return "vf.nodeGuid";
    case VfAttribute::kPortGuid: return "vf.portGuid";
  }
  return "";
}

bool is_same(VfAttribute attribute, const VirtualFunction& one, const VirtualFunction& other) {
  switch (attribute) {
    case VfAttribute::kMac: return one.mac == other.mac;
    case VfAttribute::kVlan: return std::tie(one.vlan, one.qos) == std::tie(other.vlan, other.qos);
    case VfAttribute::kSpoofCheck: return one.spoof_check == other.spoof_check;
    case VfAttribute::kTrust: return one.trust == other.trust;
    case VfAttribute::kLinkState: return one.link_state == other.link_state;
    case VfAttribute::kRates: return std::tie(one.min_rate, one.max_rate) == std::tie(other.min_rate, other.max_rate);
    case VfAttribute::kNodeGuid: return one.node_guid == other.node_guid;
    case VfAttribute::kPortGuid: return one.port_guid == other.port_guid;
  }
  return true;
}

VirtualFunctions read_virtual_functions(NetlinkSocket& socket, std::uint32_t card) {
  VirtualFunctions found;
  const auto build = [card](nlmsghdr& message) {
    auto& header = *static_cast<ifinfomsg*>(mnl_nlmsg_put_extra_header(&message, sizeof(ifinfomsg)));
    header.ifi_index = static_cast<int>(card);
    mnl_attr_put_u32(&message, IFLA_EXT_MASK, RTEXT_FILTER_VF | RTEXT_FILTER_SKIP_STATS);
  };
  socket.get(RTM_GETLINK, build, [&](const nlmsghdr& message) {
    for_each_attribute(message, sizeof(ifinfomsg), [&](const nlattr& attribute) {
      if (mnl_attr_get_type(&attribute) != IFLA_VFINFO_LIST) return;
      for_each_nested(attribute, [&](const nlattr& entry) {
        VirtualFunction function;
        const std::uint32_t number = read_entry(entry, function);
        found.insert_or_assign(number, std::move(function));
      });
    });
  });
  return found;
}

void set_virtual_function(NetlinkSocket& socket, std::uint32_t card, std::uint32_t number, VfAttribute attribute,
                          const VirtualFunction& wanted) {
  socket.change(RTM_SETLINK, 0, [&](nlmsghdr& message) {
    auto& header = *static_cast<ifinfomsg*>(mnl_nlmsg_put_extra_header(&message, sizeof(ifinfomsg)));
    header.ifi_index = static_cast<int>(card);
    nlattr* const list = mnl_attr_nest_start(&message, IFLA_VFINFO_LIST);
    nlattr* const entry = mnl_attr_nest_start(&message, IFLA_VF_INFO);
    put(message, number, attribute, wanted);
    mnl_attr_nest_end(&message, entry);
    mnl_attr_nest_end(&message, list);
  });
}

}  // namespace cardcage::nic
