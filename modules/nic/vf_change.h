// Changes that a claim makes to its card's settings for a virtual function, with the settings before.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "modules/common/node.h"
#include "modules/nic/netlink/virtual_functions.h"
#include "modules/nic/settings.h"

namespace cardcage::nic {

struct VfChange {
  std::string device;  // device id
  std::string card;    // the bus id of its physical function
  std::uint32_t number = 0;
  std::vector<VfAttribute> attributes;  // attributes that change
  VirtualFunction before, wanted;

  // Returns whether the function's driver has to be bound again to learn of the change.
  bool needs_rebind() const;
};

// The settings of the cards of a claim. Each card is read once, even if the claim has several of its functions.
class CardReadings {
 public:
  explicit CardReadings(hardware::Node node) : node_(std::move(node)) {}

  struct Card {
    std::vector<std::string> functions;  // bus ids of its virtual functions, by number
    VirtualFunctions states;             // none if the card has no interface on the node
  };
  // Returns the card with this bus id of its physical function. Throws std::system_error.
  const Card& at(const std::string& card);
  const hardware::Node& node() const { return node_; }

 private:
  const hardware::Node node_;
  std::map<std::string, Card> cards_;
};

// Returns nothing if the settings change no attribute. Throws cage::Error for an attribute that the device cannot have.
std::optional<VfChange> plan_change(CardReadings& cards, std::string_view device, const Settings& settings);
// Sets one attribute after the other. If one is refused, restores the others. Throws cage::Error.
void apply(const hardware::Node& node, const VfChange& change);
// Does nothing if the virtual function is gone, and its settings with it. Throws cage::Error.
void undo(const hardware::Node& node, const VfChange& change);

// Returns a line for the journal, without the wanted settings.
std::string to_line(const VfChange& change);
// Returns nothing for other lines.
std::optional<VfChange> change_from(const std::string& line);

}  // namespace cardcage::nic
