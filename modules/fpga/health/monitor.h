// Watches cards: reads what the kernel knows of them every few seconds, and states each cause of each device as it is
// seen; the host decides what counts, and from when on.
//
// On the module's thread only: the host makes calls of discover, events and collect one at a time.
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
  // `tools` outlives this. look() is called so often.
  Monitor(const Tools& tools, RunIfUnchanged run_if_unchanged, std::chrono::nanoseconds interval)
      : tools_(tools), run_if_unchanged_(std::move(run_if_unchanged)), interval_(interval), statements_(tools.host) {}

  struct Card {
    Readings now;                     // of the last look while nobody was changing the card
    std::string only_device;          // the id of its device; empty if it has several
    hardware::PciErrors pcie_errors;  // since the module started, and those that the kernel had counted then

   private:
    friend class Monitor;
    bool is_known = false;          // it has been read
    bool is_fresh = false;          // in this look
    bool was_changed = false;       // since the last readings
    std::string calibrated_design;  // for which the memory was calibrated at a look
  };

  // Looks at the cards of these devices. One that is being changed keeps what was stated: programming disturbs most of
  // what there is to read.
  void look(const Targets& targets);
  // Notes what the host was told: it has forgotten all statements about other devices. A function that differs from
  // what is listed makes look() ask for discover(), since no event tells that somebody else has programmed a region.
  void list(const Targets& targets);
  // Looks at a card that was reset, and states all causes of its devices anew. The reset has taken its link down.
  void start_anew(const std::string& card, const Targets& targets);
  // Forgets what was read, before the module lets go of the hardware. What was stated remains so.
  void forget() { cards_.clear(); }

  // By address.
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
