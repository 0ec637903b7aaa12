// Watches cards: reads the kernel's view of them every few seconds, and states each cause of each device as it is seen;
// the host decides which statements count, and from when on.
//
// Used on the module's thread only: the host makes calls of discover, events and collect one at a time.
#pragma once

#include <cardcage/sdk.hpp>
#include <chrono>
#include <map>
#include <string>

#include "modules/common/health_statements.h"
#include "modules/fpga/devices.h"
#include "modules/fpga/health/causes.h"
#include "modules/fpga/health/readings.h"
#include "modules/fpga/target.h"

namespace cardcage::fpga {

class Monitor {
 public:
  // `tools` outlives this. `interval` is the time between calls of look().
  Monitor(const Tools& tools, RunIfUnchanged run_if_unchanged, std::chrono::nanoseconds interval)
      : tools_(tools), run_if_unchanged_(std::move(run_if_unchanged)), interval_(interval), statements_(tools.host) {}

  struct Card {
    Readings now;                     // from the last look at which no call was changing the card
    std::string only_device;          // id of the only device of the card; empty if it has several
    hardware::PciErrors pcie_errors;  // errors since the module started, and the kernel's counts at that time

   private:
    friend class Monitor;
    bool is_known = false;          // the card has been read
    bool is_fresh = false;          // the card was read in this look
    bool was_changed = false;       // the card was changed since the last readings
    std::string calibrated_design;  // the design for which a look found the memory calibrated
  };

  // Looks at the cards of these devices. Statements about a card that is being changed stay: programming disturbs most
  // readings.
  void look(const Targets& targets);
  // Notes the devices that the host was told: it has forgotten all statements about others. A function that differs
  // from the listed one makes look() ask for discover(), since no event tells that another program has programmed a
  // region.
  void list(const Targets& targets);
  // Looks at a card that was reset, and states all causes of its devices again. The reset has taken its link down.
  void start_anew(const std::string& card, const Targets& targets);
  // Forgets all readings, before the module lets go of the hardware. Statements remain.
  void forget() { cards_.clear(); }

  // The cards by address.
  const std::map<std::string, Card>& cards() const { return cards_; }

 private:
  Card look_at(const Target& target, Card before) const;
  void compare(Card& card, const Readings& before) const;
  void judge(const Identity& device, Readings now);
  void notice_function(const Target& target);

  const Tools& tools_;
  const RunIfUnchanged run_if_unchanged_;
  const std::chrono::nanoseconds interval_;
  std::map<std::string, Card> cards_;  // by address
  hardware::HealthStatements statements_;
  std::map<std::string, std::string> functions_;  // by device id, as listed
};

}  // namespace cardcage::fpga
