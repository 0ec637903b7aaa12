// A part of an FPGA card that a claim can hold: a port, a virtual function, a whole card.
//
// A target is made for one look at the card. It keeps no descriptor open, so it never keeps a card from being reset or
// unbound, and each call reads the hardware. One thread at a time; different targets may be used at once.
#pragma once

#include <cardcage/sdk.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "modules/common/node.h"
#include "modules/common/passthrough.h"
#include "modules/fpga/bitstream/catalogue.h"
#include "modules/fpga/lent_ports.h"

namespace cardcage::fpga {

// The paths, the host and the programs that all parts of the module use.
struct Tools {
  hardware::Node node;
  cage::Host host;
  hardware::Passthrough passthrough;
  std::string vfio_driver;  // "vfio-pci"
  std::string xrt_program;  // "xbutil", the name of a file in the key `programs`
  std::shared_ptr<LentPorts> lent = std::make_shared<LentPorts>();
};

struct Identity {
  std::string id;             // "0000:3b:00.0/port-0": stable over reboots, unlike the kernel's numbers
  std::string name;           // "fpga-0000-3b-00-0-p0"
  std::string kind;           // "port", "vf", "card", "alveo", "manager"
  std::string card;           // "0000:3b:00.0": the targets of one card share it
  std::string physical = {};  // the card of a virtual function that has ports of its own
  std::string bus_id;         // empty for an FPGA that is not a PCI function
  std::string model;          // "N3000"; empty if it is unknown
};

// The function that is loaded: an AFU, a kernel of an xclbin.
struct Function {
  std::string id;   // a UUID, 32 hexadecimal digits; empty if it is unknown
  std::string why;  // the reason for an empty id, for people
};

class Target {
 public:
  explicit Target(Identity identity) : identity_(std::move(identity)) {}
  Target(const Target&) = delete;
  virtual ~Target() = default;

  const Identity& identity() const { return identity_; }

  // Returns whether the kernel is programming the card, perhaps for a process that has ended.
  virtual bool is_being_programmed() const { return false; }
  // Returns why a container that has the target could program it past the catalogue; empty if it cannot.
  virtual std::string why_not_confined() const { return {}; }
  // Returns the UUID of the interface that a bitstream must be made for; empty if the card tells none.
  virtual std::string interface_id() const { return {}; }
  virtual Function function() const = 0;
  // Returns whether function() can tell the loaded function.
  virtual bool shows_function() const { return true; }
  // Returns why no bitstream can be loaded; empty if one can.
  virtual std::string why_not_programmable() const = 0;
  // Adds attributes and capacities beyond those that all targets have.
  virtual void describe(cage::Device& device) const = 0;

  // Throws FAILED_PRECONDITION, which names the wanted and the found value, unless the bitstream was made for this
  // card.
  virtual void require_fit(const Entry& bitstream) const = 0;
  // Returns whether the clock of the function suits the bitstream.
  virtual bool has_clock(const cage::Call&, const Entry&) const { return true; }
  // Sets the clock for a bitstream that is about to be loaded. Throws FAILED_PRECONDITION, and has changed nothing, if
  // it cannot be set.
  virtual void set_clock(const cage::Call&, const Entry&) const {}
  // Loads the bitstream; returns once the hardware has it. Takes seconds to minutes.
  virtual void program(const cage::Call& call, const Entry& bitstream) const = 0;
  // Throws FAILED_PRECONDITION while revive() must wait for a process.
  virtual void require_revivable(const cage::Call&) const {}
  // Enables a target that the kernel keeps disabled after a programming that failed. Returns whether the kernel gave it
  // new numbers: then it must be found again.
  virtual bool revive(const cage::Call&) const { return false; }
  // Stops the loaded function and brings it to its initial state. Throws FAILED_PRECONDITION, with the holder, if a
  // process has the target open.
  virtual void reset(const cage::Call& call) const = 0;
  // Returns why an operator cannot have it reset, although claims need no reset; empty if one can.
  virtual std::string why_not_resettable() const { return {}; }
  // Throws like reset() if a process has the target open. Called before programming, which resets the target.
  virtual void require_idle(const cage::Call& call) const { reset(call); }
  // Returns whether the loaded function is still there after a reset.
  virtual bool reset_keeps_function() const { return true; }
  // Clears the errors that the hardware has latched.
  virtual void clear_errors(const cage::Call&) const {}

  // Returns the PCI functions that need another driver before a container can use the target. Throws
  // FAILED_PRECONDITION if they cannot all be given away.
  virtual std::vector<std::string> functions_to_bind() const { return {}; }
  virtual void bind(const cage::Call&) const {}
  // Returns the numbers of the ports that become virtual functions for a claim with virtualFunctions. Throws
  // FAILED_PRECONDITION if they cannot.
  virtual std::vector<unsigned> ports_to_lend() const {
    throw cage::Error(CAGE_FAILED_PRECONDITION, "device '" + identity_.id +
                                                    "' cannot be given as a virtual function: it has no ports; only "
                                                    "ports of DFL cards can");
  }
  // Adds the nodes and variables for a container. `loaded` is the bitstream that the claim names; null: none.
  virtual void add_to(cage::Edit edit, const Entry* loaded) const = 0;

 private:
  const Identity identity_;
};

using Targets = std::vector<std::unique_ptr<Target>>;

// Returns whether a call is programming or resetting the target: many of its values do not count until that ends.
using IsChanging = std::function<bool(const Target& target)>;
// Runs the action unless the target is changing; calls for claims wait for its end. Returns whether it ran.
using RunIfUnchanged = std::function<bool(const Target& target, const std::function<void()>& action)>;

}  // namespace cardcage::fpga
