// Addresses that a CNI IPAM plugin gives to the interface of a claim: host-local and others when the claim is prepared,
// dhcp once the interface is in the pod.
//
// Source: CNI specification 1.1.0, sections 2 (execution protocol), 4 (delegation) and 5 (results).
#pragma once

#include <cardcage/sdk.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "modules/nic/netlink/routes.h"

namespace cardcage::nic {

// Returns the network configuration of the field ipam.config as one line. Throws cage::Error for one that no plugin can
// have.
std::string network_config_from(std::string_view text);
// The network configuration of ipam.mode DHCP.
inline constexpr std::string_view kDhcpConfig = R"({"cniVersion":"0.4.0","name":"dhcp","ipam":{"type":"dhcp"}})";

// The addresses of one interface that belong to a claim.
struct Lease {
  std::string interface;    // its name in the pod
  std::string config;       // the network configuration, one line
  std::string result = {};  // the JSON that the plugin printed; empty before its call
};
// Returns whether the plugin sends through the interface, so that it is called when the interface is in the pod.
bool works_in_pod(const Lease& lease);

struct LeasedNetwork {
  std::vector<Address> addresses;
  std::vector<Route> routes;
};
// Throws cage::Error if the plugin's result is not understood.
LeasedNetwork network_of(const Lease& lease);

// The plugin is a program of the node, and knows the lease by the claim's uid and the interface's name.
class Ipam {
 public:
  explicit Ipam(cage::Host host) : host_(host) {}

  // Sets the result. Throws cage::Error.
  void add(const cage::Call& call, std::string_view claim_uid, Lease& lease) const;
  // Throws cage::Error if the plugin cannot be run.
  void require_plugin(const cage::Call& call, const Lease& lease) const;
  // Returns the addresses of a plugin that works in the pod. Throws cage::Error.
  LeasedNetwork add_in_pod(const cage::Call& call, std::string_view claim_uid, Lease lease, const cage::Pod& pod) const;
  // Gives the addresses back. Does nothing if the plugin has none for the interface. Throws cage::Error.
  void remove(const cage::Call& call, std::string_view claim_uid, const Lease& lease) const;

 private:
  cage::ProgramResult run(const cage::Call& call, const char* command, std::string_view claim_uid, const Lease& lease,
                          std::string_view network = kNoNetwork) const;

  // Plugins demand a path of the pod's network, and only those that work there open it.
  static constexpr std::string_view kNoNetwork = "/var/run/netns/none";

  const cage::Host host_;
};

}  // namespace cardcage::nic
