#include "modules/fpga/not_offered.h"

#include <algorithm>

#include "modules/common/pci_function.h"
#include "modules/fpga/dfl/card.h"
#include "modules/fpga/xrt/alveo.h"

namespace cardcage::fpga {
namespace {

bool is_offered(const std::string& bus_id, const Targets& offered) {
  return std::ranges::any_of(offered, [&](const auto& target) {
    const Identity& about = target->identity();
    return about.card == bus_id || about.physical == bus_id;
  });
}

std::string reason_of_driver(const Tools& tools, const std::string& bus_id, const std::string& wanted,
                             const std::string& lacks) {
  const std::string driver = hardware::driver_of(tools.node.sysfs, bus_id);
  if (driver == wanted) return wanted + " shows no " + lacks + " of it";
  const std::string now = driver.empty() ? "no driver is bound to it" : "driver '" + driver + "' is bound to it";
  return now + "; the module needs " + wanted;
}

std::string reason_of_card(const DflCard& card) {
  if (card.ports.empty()) return "the kernel shows no port of it";
  return "its ports have no functions, and it has no virtual functions, which have them; write a number to its "
         "attribute sriov_numvfs";
}

// OFS shells have accelerators on further physical functions. Containers could get them only through VFIO, and a
// bitstream for the card replaces them all.
bool is_further_function(const Tools& tools, const std::string& bus_id) {
  const std::string first = bus_id.substr(0, bus_id.rfind('.')) + ".0";
  return first != bus_id && read_dfl_card(tools.node, first).has_value();
}

// Returns nothing for hardware that the module does not know.
std::string reason_of_function(const Tools& tools, const std::string& bus_id) {
  if (const auto card = read_dfl_card(tools.node, bus_id)) return reason_of_card(*card);
  if (is_further_function(tools, bus_id))
    return "it is a further physical function of a card; the module serves ports and virtual functions";
  if (!model_of(tools.node, bus_id).empty()) return reason_of_driver(tools, bus_id, kDflDriver, "engine and no port");
  if (is_known_alveo(tools.node, bus_id)) return reason_of_driver(tools, bus_id, kAlveoDriver, "user function");
  return {};
}

}  // namespace

std::map<std::string, std::string> find_not_offered(const Tools& tools, const Targets& offered) {
  std::map<std::string, std::string> reasons;
  for (const std::string& bus_id : hardware::functions_of(tools.node.sysfs)) {
    if (!hardware::physical_function_of(tools.node.sysfs, bus_id).empty()) continue;
    for (const std::string& port : unnumbered_ports(tools.node, bus_id))
      reasons[bus_id + "/" + port] = "its attribute 'id' cannot be read, so it may be any port of the card";
    if (is_offered(bus_id, offered)) continue;
    if (std::string reason = reason_of_function(tools, bus_id); !reason.empty()) reasons[bus_id] = std::move(reason);
  }
  return reasons;
}

}  // namespace cardcage::fpga
