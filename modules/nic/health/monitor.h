// States what is wrong with devices, and what is well, each time that something about a device has changed.
//
// What an interface in a pod tells is out of reach: what was stated about it remains. An interface that nobody has
// turned on is idle, and well.
#pragma once

#include <cardcage/sdk.hpp>
#include <map>
#include <string>

#include "modules/common/health_statements.h"
#include "modules/common/node.h"
#include "modules/common/pci_function.h"
#include "modules/nic/nic.h"

namespace cardcage::nic {

// On the module's thread only.
class Monitor {
 public:
  Monitor(cage::Host host, hardware::Node node) : node_(std::move(node)), statements_(host) {}

  void look(const Inventory& found);

 private:
  // Whether the card has left the bus, by its bus id; those that one look has met.
  using LostCards = std::map<std::string, bool>;
  void judge_interface(const Nic& nic);
  void judge_rdma(const Nic& nic);
  void judge_function(const Nic& nic, LostCards& lost);
  void judge_reporters(const Nic& nic, const HealthReporters& reporters);
  void judge_errors(const Nic& nic);

  const hardware::Node node_;
  hardware::HealthStatements statements_;
  std::map<std::string, hardware::PciErrors> errors_;  // by device id, at the last look
};

}  // namespace cardcage::nic
