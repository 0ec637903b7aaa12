// Prepares and releases FPGAs for claims, and gives containers their nodes and variables.
#pragma once

#include <cardcage/sdk.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "modules/fpga/bitstream/catalogue.h"
#include "modules/fpga/card_locks.h"
#include "modules/fpga/dfl/port_loan.h"
#include "modules/fpga/duties.h"
#include "modules/fpga/fences.h"
#include "modules/fpga/settings.h"
#include "modules/fpga/target.h"

namespace cardcage::fpga {

// Calls for different claims overlap, on threads of their own. Only the locks of cards outlast a call.
class Claims {
 public:
  Claims(const Tools& tools, const Catalogue& catalogue, const Fences& fences)
      : tools_(tools), catalogue_(catalogue), fences_(fences) {}

  void prepare(const cage::Call& call, const cage::Claim& claim, cage::Edits& edits);
  void unprepare(const cage::Call& call, const cage::Claim& claim);
  // Runs before each start of a container, with the device-plugin API.
  void pre_start(const cage::Call& call, const cage::Claim& claim);
  // Resets a device for an operator; a fenced device stays fenced. Returns the address of the card. Throws
  // UNIMPLEMENTED for a device that cannot be reset.
  std::string reset(const cage::Call& call, std::string_view device);
  void reconcile(const cage::Call& call, const std::vector<cage::Claim>& live) const;
  // Returns whether a call is programming or resetting the card, or the device.
  bool is_changing(const std::string& card) { return locks_.is_taken(card); }
  bool is_changing(const Identity& device) { return locks_.is_taken_for(device); }
  // Runs the action unless a call is changing the card; calls wait for its end. Returns whether it ran.
  bool run_if_unchanged(const Identity& device, const std::function<void()>& action) {
    return locks_.run_if_free(device, action);
  }

 private:
  // The checked request of a claim for one device.
  struct Work {
    cage::Allocation allocation;
    std::unique_ptr<Target> target;
    Settings settings;
    std::optional<Entry> bitstream;
    std::optional<PortLoan> loan;  // for a claim that gets ports as virtual functions
    Duty duty;
  };
  // `before` has the duties of an earlier attempt.
  Work plan(const cage::Call& call, const cage::Allocation& allocation, const Duties& before) const;
  void require_usable(const Work& work) const;
  void require_function(const Work& work) const;
  void apply(const cage::Call& call, Work& work);
  void return_ports(const cage::Call& call, std::unique_ptr<Target>& target, const Duty& duty) const;
  void note_lent(const Duties& duties) const;
  void revive(const cage::Call& call, std::unique_ptr<Target>& target) const;
  bool has_function(const Work& work) const;
  bool is_ready(const Work& work) const;
  std::unique_ptr<Target> find(const cage::Call& call, std::string_view device) const;
  // Binds the driver of a card that has lost it; returns whether it had.
  bool bind_lost(const cage::Call& call, const std::string& card) const;
  void program(const cage::Call& call, const Target& target, const Entry& bitstream);
  void verify(const cage::Call& call, const Target& target, const Entry& bitstream) const;
  void add_edits(const Work& work, cage::Edit edit) const;

  void release(const cage::Call& call, const Duty& duty, bool was_prepared);
  void clean(const cage::Call& call, const Target& target, const Duty& duty);
  void clear_errors(const cage::Call& call, const Target& target) const;
  void scrub(const cage::Call& call, const Target& target, const Duty& duty);
  void try_to_restore(const cage::Call& call, const Duties& duties);
  void restore_drivers(const cage::Call& call, const Duty& duty) const;

  const Tools& tools_;
  const Catalogue& catalogue_;
  const Fences& fences_;
  CardLocks locks_;
};

}  // namespace cardcage::fpga
