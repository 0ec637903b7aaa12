#include "modules/fpga/inventory.h"

#include <algorithm>
#include <filesystem>

#include "modules/common/pci_function.h"
#include "modules/fpga/manager/manager.h"
#include "modules/fpga/whole_card.h"
#include "modules/fpga/xrt/alveo.h"

namespace cardcage::fpga {

namespace fs = std::filesystem;

static void add_lent_ports(const Tools& tools, DflCard& card) {
  if (!card.engine) return;
  for (const unsigned number : tools.lent->of(card.bus_id)) {
    if (std::ranges::find(card.ports, number, &DflPort::number) == card.ports.end())
      card.ports.push_back({.number = number, .node = {}, .folder = {}, .has_function = true, .is_lent = true});
  }
  std::ranges::sort(card.ports, {}, &DflPort::number);
}

// Adds the targets of a function. If a card has several parts, the card as a whole is a target, too.
static void add_function(const Tools& tools, const std::string& bus_id, Targets& targets) {
  if (auto alveo = find_alveo(tools, bus_id)) targets.push_back(std::move(alveo));
  auto card = read_dfl_card(tools.node, bus_id);
  if (!card || (!card->physical.empty() && !tools.lent->of(card->physical).empty())) return;
  add_lent_ports(tools, *card);
  Targets parts = parts_of(tools, *card, false);
  const bool has_parts = card->is_ofs() || parts.size() > 1;
  std::ranges::move(parts, std::back_inserter(targets));
  if (has_parts) targets.push_back(std::make_unique<WholeCard>(tools, *card));
}

Targets find_targets(const Tools& tools) {
  Targets targets;
  for (const std::string& bus_id : hardware::functions_of(tools.node.sysfs)) add_function(tools, bus_id, targets);
  add_managers(tools, targets);
  return targets;
}

std::unique_ptr<Target> find_target(const Tools& tools, std::string_view id) {
  const std::string bus_id(card_of(id));
  Targets targets;
  if (fs::exists(hardware::path_of(tools.node.sysfs, bus_id))) {
    add_function(tools, bus_id, targets);
    // A virtual function of an OFS card is a part of the card of its physical function.
    if (const std::string physical = hardware::physical_function_of(tools.node.sysfs, bus_id); !physical.empty())
      add_function(tools, physical, targets);
  } else {
    add_managers(tools, targets);
  }
  const auto found = std::ranges::find(targets, id, [](const auto& target) { return target->identity().id; });
  return found == targets.end() ? nullptr : std::move(*found);
}

std::string_view card_of(std::string_view id) { return id.substr(0, id.find('/')); }

std::string name_of_card(std::string_view bus_id) {
  std::string name = "fpga-";
  for (const char c : bus_id) name += c == ':' || c == '.' ? '-' : c;
  return name;
}

}  // namespace cardcage::fpga
