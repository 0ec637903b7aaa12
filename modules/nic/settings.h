// Parameters of kind NicConfig: the request of a claim for a network device.
#pragma once

#include <cardcage/sdk.hpp>
#include <optional>
#include <string>
#include <vector>

#include "modules/nic/netlink/routes.h"

namespace cardcage::nic {

inline constexpr std::string_view kApiVersion = "nic.cardcage.dev/v1alpha1", kKind = "NicConfig";

namespace field {
inline constexpr const char *kMode = "mode", *kVhostNet = "vhostNet", *kName = "interface.name",
                            *kMtu = "interface.mtu", *kMac = "interface.mac", *kAddresses = "interface.addresses",
                            *kRoutes = "routes", *kRules = "rules", *kVlan = "vf.vlan", *kVlanQos = "vf.vlanQos",
                            *kSpoofCheck = "vf.spoofCheck", *kTrust = "vf.trust", *kLinkState = "vf.linkState",
                            *kMinTxRate = "vf.minTxRate", *kMaxTxRate = "vf.maxTxRate", *kMovedBy = "interface.movedBy",
                            *kLockedMemory = "lockedMemoryMiB", *kIpam = "ipam.mode", *kIpamConfig = "ipam.config",
                            *kDhcp = "interface.dhcp", *kNodeGuid = "vf.nodeGuid", *kPortGuid = "vf.portGuid";
}  // namespace field

inline constexpr std::int64_t kMinMtu = 68, kMaxMtu = 65535, kMaxList = 64, kMaxVlan = 4094, kMaxQos = 7,
                              kMaxRate = 10'000'000, kMaxIpamConfig = 4096, kUnlimited = -1, kMaxLockedMiB = 1 << 24;

inline constexpr cage_str kModes[] = {CAGE_LIT("Kernel"), CAGE_LIT("Rdma"), CAGE_LIT("Vfio")};
inline constexpr cage_str kMovers[] = {CAGE_LIT("Cardcage"), CAGE_LIT("Runtime"), CAGE_LIT("Multus")};
inline constexpr cage_str kIpamModes[] = {CAGE_LIT("Inherit"), CAGE_LIT("Claim"), CAGE_LIT("Delegate"),
                                          CAGE_LIT("DHCP")};
inline constexpr cage_str kLinkStates[] = {CAGE_LIT("auto"), CAGE_LIT("enable"), CAGE_LIT("disable")};
inline constexpr cage::Option kFields[] = {
    cage::Option::text(field::kMode, "Kernel",
                       "Kernel: the interface goes to the pod. Rdma: it stays, and the container gets the RDMA nodes. "
                       "Vfio: the container drives the function")
        .one_of(kModes),
    cage::Option::boolean(field::kVhostNet, "false", "also give /dev/vhost-net and /dev/net/tun, for DPDK"),
    cage::Option::integer(field::kLockedMemory, "-1",
                          "MiB that a container of a claim may lock for RDMA or Vfio (RLIMIT_MEMLOCK); -1: no limit, "
                          "0: as the container runtime sets it")
        .range(kUnlimited, kMaxLockedMiB),
    cage::Option::text(
        field::kMovedBy, "Cardcage",
        "Cardcage: for all containers of the pod. Runtime: the container runtime moves it, for pods with "
        "one container that is not started again (CDI netDevices). Multus: a CNI plugin that Multus calls")
        .one_of(kMovers),
    cage::Option::text(field::kName, "", "its name in the pod; empty: as on the node").range(0, 15),
    cage::Option::integer(field::kMtu, "0", "its MTU in the pod, bytes; 0: as on the node").range(0, kMaxMtu),
    cage::Option::text(field::kMac, "", "its MAC address in the pod; empty: as on the node").class_only(),
    cage::Option::list(field::kAddresses, "[]", "its addresses in the pod: [\"10.1.2.3/24\"]").range(0, kMaxList),
    cage::Option::boolean(field::kDhcp, "false", "the same as ipam.mode: DHCP"),
    cage::Option::text(field::kIpam, "Inherit",
                       "Inherit: it takes along its addresses, routes and neighbours of the node. Claim: it has those "
                       "of the claim, the default if that names addresses. Delegate: also those of the plugin in "
                       "ipam.config. DHCP: also that of a DHCP server")
        .one_of(kIpamModes),
    cage::Option::text(field::kIpamConfig, "",
                       "a CNI network configuration with the IPAM plugin to run: {\"name\": \"storage\", \"ipam\": "
                       "{\"type\": \"host-local\", ...}}")
        .range(0, kMaxIpamConfig)
        .class_only(),
    cage::Option::list(field::kRoutes, "[]", "routes through it: [\"10.0.0.0/8 via 10.1.2.1\"]")
        .range(0, kMaxList)
        .objects(),
    cage::Option::list(field::kRules, "[]", "rules of the pod: [\"from 10.1.2.3 table 100\"]")
        .range(0, kMaxList)
        .objects(),
    cage::Option::integer(field::kVlan, "0", "the VLAN that the card puts its frames into; 0: none")
        .range(0, kMaxVlan)
        .class_only(),
    cage::Option::integer(field::kVlanQos, "0", "the priority of these frames").range(0, kMaxQos).class_only(),
    cage::Option::boolean(field::kSpoofCheck, "true", "drop frames with another source address").class_only(),
    cage::Option::boolean(field::kTrust, "false", "let it change its address and receive all frames").class_only(),
    cage::Option::text(field::kLinkState, "auto", "auto: as the card's link; enable, disable: always up, down")
        .one_of(kLinkStates)
        .class_only(),
    cage::Option::integer(field::kMinTxRate, "0", "Mbit/s that it can send at least; 0: no promise")
        .range(0, kMaxRate)
        .class_only(),
    cage::Option::integer(field::kMaxTxRate, "0", "Mbit/s that it can send at most; 0: no bound")
        .range(0, kMaxRate)
        .class_only(),
    cage::Option::text(field::kNodeGuid, "", "its InfiniBand node GUID, \"00:11:22:33:44:55:66:77\"; empty: as it is")
        .class_only(),
    cage::Option::text(field::kPortGuid, "", "its InfiniBand port GUID; empty: as it is").class_only(),
};

// Settings of a virtual function, which its card applies. Settings without a value stay as they are.
struct VfSettings {
  std::optional<std::uint32_t> vlan, qos, link_state, min_rate, max_rate;  // link_state is IFLA_VF_LINK_STATE_*
  std::optional<bool> spoof_check, trust;
  std::optional<std::uint64_t> node_guid, port_guid;

  bool is_given() const {
    return vlan || qos || link_state || min_rate || max_rate || spoof_check || trust || node_guid || port_guid;
  }
};

enum class Mode { kKernel, kRdma, kVfio };
struct Settings {
  Mode mode = Mode::kKernel;
  bool vhost_net = false;
  bool moved_by_runtime = false, moved_by_multus = false;
  std::optional<std::uint64_t> locked_memory = UINT64_MAX;  // bytes; nothing: as the runtime sets it
  std::string name, mac;                                    // empty: as on the node
  std::uint32_t mtu = 0;                                    // 0: as on the node
  bool inherits = true;                                     // addresses, routes and neighbours of the node
  std::string ipam_config;                                  // network configuration of the IPAM plugin; empty: none
  std::vector<Address> addresses;
  std::vector<Route> routes;
  std::vector<Rule> rules;
  VfSettings vf;

  bool moves_interface() const { return mode == Mode::kKernel && !moved_by_runtime && !moved_by_multus; }
  // Does not count the MAC address: a card can give it to a virtual function in any mode.
  bool configures_interface() const { return !name.empty() || configures_network(); }
  // Returns whether the claim has settings that a container runtime does not apply when it moves an interface.
  bool configures_network() const {
    return mtu != 0 || !ipam_config.empty() || !addresses.empty() || !routes.empty() || !rules.empty();
  }
};

// Throws cage::Error for a value that is not understood.
Settings settings_of(const cage::Allocation& allocation);

}  // namespace cardcage::nic
