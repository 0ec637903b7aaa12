// The steps of a prepare that must be undone: lines of the claim's journal.
#pragma once

#include <cardcage/sdk.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "modules/nic/ipam.h"
#include "modules/nic/vf_change.h"

namespace cardcage::nic {

struct Journal {
  std::vector<VfChange> changes;  // none after a reboot, which undoes them
  std::set<std::string> bound;    // devices whose driver was bound again; none after a reboot
  std::vector<std::pair<std::string, std::string>> functions;  // devices, and PCI functions that got another driver
  std::vector<Lease> leases;                                   // requested from an IPAM plugin, which may have replied
};

Journal journal_of(const cage::Claim& claim);

// Each returns one line, with its end.
std::string journal_line(const VfChange& change);
std::string bound_line(const std::string& device);
std::string function_line(std::string_view device, const std::string& function);
std::string journal_line(const Lease& lease);

}  // namespace cardcage::nic
