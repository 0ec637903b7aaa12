// What a claim has the card do to the traffic of its virtual function, and what it did before.
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
  std::string device;  // its id
  std::string card;    // the bus id of its physical function
  std::uint32_t number = 0;
  std::vector<VfAttribute> attributes;  // that change
  VirtualFunction before, wanted;

  // Returns whether the function's driver has to be bound anew to learn of the change.
  bool needs_rebind() const;
};

// What the cards of a claim do. Each is read once, whatever the claim has of it.
class CardReadings {
 public:
  explicit CardReadings(hardware::Node node) : node_(std::move(node)) {}

  struct Card {
    std::vector<std::string> functions;  // the bus ids of its virtual functions, by number
    VirtualFunctions states;             // none if the card has no interface on the node
  };
  // By the bus id of the physical function. Throws std::system_error.
  const Card& at(const std::string& card);
  const hardware::Node& node() const { return node_; }

 private:
  const hardware::Node node_;
  std::map<std::string, Card> cards_;
};

// Nothing if the settings name no attribute. Throws cage::Error for one that the device cannot have.
std::optional<VfChange> plan_change(CardReadings& cards, std::string_view device, const Settings& settings);
// Sets one attribute after the other. If one is refused, the others are as before. Throws cage::Error.
void apply(const hardware::Node& node, const VfChange& change);
// Does nothing if the virtual function is gone, and with it what was set. Throws cage::Error.
void undo(const hardware::Node& node, const VfChange& change);

// A line for the journal, without what is wanted.
std::string to_line(const VfChange& change);
// Nothing for other lines.
std::optional<VfChange> change_from(const std::string& line);

}  // namespace cardcage::nic
