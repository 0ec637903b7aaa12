// Addresses that a CNI IPAM plugin, such as host-local, gives to the interface of a claim.
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

// The addresses of one interface that belong to a claim.
struct Lease {
  std::string interface;    // its name in the pod
  std::string config;       // the network configuration, one line
  std::string result = {};  // the JSON that the plugin printed; empty before its call
};

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
  // Gives the addresses back. Does nothing if the plugin has none for the interface. Throws cage::Error.
  void remove(const cage::Call& call, std::string_view claim_uid, const Lease& lease) const;

 private:
  cage::ProgramResult run(const cage::Call& call, const char* command, std::string_view claim_uid,
                          const Lease& lease) const;

  const cage::Host host_;
};

}  // namespace cardcage::nic
