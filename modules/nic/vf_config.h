// Parameters of kind VfConfig of dra-driver-sriov, for claims that were written for that driver.
//
// Source: pkg/api/virtualfunction/v1alpha1 of k8snetworkplumbingwg/dra-driver-sriov.
#pragma once

#include "modules/nic/settings.h"

namespace cardcage::nic {

inline constexpr std::string_view kVfApiVersion = "sriovnetwork.k8snetworkplumbingwg.io/v1alpha1", kVfKind = "VfConfig";

namespace vf_field {
inline constexpr const char *kDriver = "driver", *kIfName = "ifName", *kAddVhostMount = "addVhostMount",
                            *kNetwork = "netAttachDefName", *kNamespace = "netAttachDefNamespace", *kVlan = "vf.vlan",
                            *kQos = "vf.qos", *kVlanProto = "vf.vlanProto", *kSpoofCheck = "vf.spoofChk",
                            *kTrust = "vf.trust", *kMinTxRate = "vf.minTxRate", *kMaxTxRate = "vf.maxTxRate",
                            *kLinkState = "vf.linkState";
}  // namespace vf_field

inline constexpr cage_str kVfDrivers[] = {CAGE_LIT(""), CAGE_LIT("default"), CAGE_LIT("vfio-pci")};
inline constexpr cage_str kVlanProtocols[] = {CAGE_LIT("802.1q")};
inline constexpr cage::Option kVfFields[] = {
    cage::Option::text(vf_field::kDriver, "", "empty or default: mode Kernel; vfio-pci: mode Vfio").one_of(kVfDrivers),
    cage::Option::text(vf_field::kIfName, "", "the name of the interface in the pod; empty: as on the node")
        .range(0, 15),
    cage::Option::boolean(vf_field::kAddVhostMount, "false", "also give /dev/vhost-net and /dev/net/tun"),
    cage::Option::text(vf_field::kNetwork, "", "refused: write a NicConfig with interface.movedBy: Multus"),
    cage::Option::text(vf_field::kNamespace, "", "refused, as netAttachDefName"),
    cage::Option::integer(vf_field::kVlan, "0", "the VLAN that the card puts its frames into; 0: none")
        .range(0, kMaxVlan)
        .class_only(),
    cage::Option::integer(vf_field::kQos, "0", "the priority of these frames").range(0, kMaxQos).class_only(),
    cage::Option::text(vf_field::kVlanProto, "802.1q", "the protocol of the VLAN").one_of(kVlanProtocols).class_only(),
    cage::Option::boolean(vf_field::kSpoofCheck, "true", "drop frames with another source address").class_only(),
    cage::Option::boolean(vf_field::kTrust, "false", "let it change its address and receive all frames").class_only(),
    cage::Option::integer(vf_field::kMinTxRate, "0", "Mbit/s that it can send at least; 0: no promise")
        .range(0, kMaxRate)
        .class_only(),
    cage::Option::integer(vf_field::kMaxTxRate, "0", "Mbit/s that it can send at most; 0: no bound")
        .range(0, kMaxRate)
        .class_only(),
    cage::Option::text(vf_field::kLinkState, "auto", "auto: as the card's link; enable, disable: always up, down")
        .one_of(kLinkStates)
        .class_only(),
};

// Throws cage::Error for a network attachment, which a claim cannot name here.
Settings settings_of_vf_config(const cage::Values& values);

}  // namespace cardcage::nic
