// States faults of devices, and their ends, each time that something about a device has changed.
//
// The state of an interface in a pod cannot be read, so the last statement about it remains. An interface that is not
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

// Used on the module's thread only.
class Monitor {
 public:
  Monitor(cage::Host host, hardware::Node node) : node_(std::move(node)), statements_(host) {}

  void look(const Inventory& found);

 private:
  // Whether a card has left the bus, by its bus id, for the cards that one look has met.
  using LostCards = std::map<std::string, bool>;
  void judge_interface(const Nic& nic);
  void judge_rdma(const Nic& nic);
  void judge_function(const Nic& nic, LostCards& lost);
  void judge_reporters(const Nic& nic, const HealthReporters& reporters);
  void judge_errors(const Nic& nic);

  const hardware::Node node_;
  hardware::HealthStatements statements_;
  std::map<std::string, hardware::PciErrors> errors_;  // counts at the last look, by device id
};

}  // namespace cardcage::nic
