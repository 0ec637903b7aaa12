// What a claim wants of a network device: the parameters of kind NicConfig.
#pragma once

#include <cardcage/sdk.hpp>

namespace cardcage::nic {

inline constexpr std::string_view kApiVersion = "nic.cardcage.dev/v1alpha1", kKind = "NicConfig";

namespace field {
inline constexpr const char *kMode = "mode", *kVhostNet = "vhostNet";
}  // namespace field

inline constexpr cage_str kModes[] = {CAGE_LIT("Kernel"), CAGE_LIT("Vfio")};
inline constexpr cage::Option kFields[] = {
    cage::Option::text(field::kMode, "Kernel", "who drives the device: the driver that it has, or the container")
        .one_of(kModes),
    cage::Option::boolean(field::kVhostNet, "false", "also give /dev/vhost-net and /dev/net/tun, for DPDK"),
};

struct Settings {
  bool vfio = false, vhost_net = false;
};

inline Settings settings_of(const cage::Allocation& allocation) {
  if (!allocation.has_params()) return {};
  const cage::Values values = allocation.params();
  return {.vfio = values.text(field::kMode) == "Vfio", .vhost_net = values.boolean(field::kVhostNet)};
}

}  // namespace cardcage::nic
