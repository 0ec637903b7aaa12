// What a claim wants of a network device: the parameters of kind NicConfig.
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
                            *kRoutes = "routes", *kRules = "rules";
}  // namespace field

inline constexpr std::int64_t kMinMtu = 68, kMaxMtu = 65535, kMaxList = 64;

inline constexpr cage_str kModes[] = {CAGE_LIT("Kernel"), CAGE_LIT("Rdma"), CAGE_LIT("Vfio")};
inline constexpr cage::Option kFields[] = {
    cage::Option::text(field::kMode, "Kernel",
                       "Kernel: the interface goes to the pod. Rdma: it stays, and the container gets the RDMA nodes. "
                       "Vfio: the container drives the function")
        .one_of(kModes),
    cage::Option::boolean(field::kVhostNet, "false", "also give /dev/vhost-net and /dev/net/tun, for DPDK"),
    cage::Option::text(field::kName, "", "its name in the pod; empty: as on the node").range(0, 15),
    cage::Option::integer(field::kMtu, "0", "its MTU in the pod, bytes; 0: as on the node").range(0, kMaxMtu),
    cage::Option::text(field::kMac, "", "its MAC address in the pod; empty: as on the node").class_only(),
    cage::Option::list(field::kAddresses, "[]", "its addresses in the pod: [\"10.1.2.3/24\"]").range(0, kMaxList),
    cage::Option::list(field::kRoutes, "[]", "routes through it: [\"10.0.0.0/8 via 10.1.2.1\"]").range(0, kMaxList),
    cage::Option::list(field::kRules, "[]", "rules of the pod: [\"from 10.1.2.3 table 100\"]").range(0, kMaxList),
};

enum class Mode { kKernel, kRdma, kVfio };
struct Settings {
  Mode mode = Mode::kKernel;
  bool vhost_net = false;
  std::string name, mac;  // empty: as on the node
  std::uint32_t mtu = 0;  // 0: as on the node
  std::vector<Address> addresses;
  std::vector<Route> routes;
  std::vector<Rule> rules;

  bool configures_interface() const {
    return !name.empty() || !mac.empty() || mtu != 0 || !addresses.empty() || !routes.empty() || !rules.empty();
  }
};

// Throws cage::Error for a value that names nothing.
Settings settings_of(const cage::Allocation& allocation);

}  // namespace cardcage::nic
