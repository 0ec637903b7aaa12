#include "modules/nic/vf_config.h"

#include "modules/nic/given_values.h"

namespace cardcage::nic {

Settings settings_of_vf_config(const cage::Values& values) {
  for (const char* name : {vf_field::kNetwork, vf_field::kNamespace})
    if (!values.text(name).empty())
      throw cage::Error(CAGE_INVALID_ARGUMENT,
                        std::string(name) +
                            ": a network attachment is a matter of Multus here; write a NicConfig with "
                            "interface.movedBy: Multus, and name the network in the annotation of the pod");
  Settings settings;
  settings.mode = values.text(vf_field::kDriver) == "vfio-pci" ? Mode::kVfio : Mode::kKernel;
  settings.vhost_net = values.boolean(vf_field::kAddVhostMount);
  // A function on vfio-pci has no interface to name.
  if (settings.mode == Mode::kKernel) settings.name = values.text(vf_field::kIfName);
  settings.vf.vlan = given_number(values, vf_field::kVlan);
  settings.vf.qos = given_number(values, vf_field::kQos);
  settings.vf.link_state = given_link_state(values, vf_field::kLinkState);
  settings.vf.min_rate = given_number(values, vf_field::kMinTxRate);
  settings.vf.max_rate = given_number(values, vf_field::kMaxTxRate);
  settings.vf.spoof_check = given_boolean(values, vf_field::kSpoofCheck);
  settings.vf.trust = given_boolean(values, vf_field::kTrust);
  return settings;
}

}  // namespace cardcage::nic
