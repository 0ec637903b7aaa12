#include "modules/nic/claims.h"

#include <cctype>
#include <exception>
#include <sstream>

#include "modules/common/pci_function.h"
#include "modules/nic/netdev.h"
#include "modules/nic/nic.h"
#include "modules/nic/rdma.h"
#include "modules/nic/settings.h"

namespace cardcage::nic {
namespace {

// "NIC_0000_41_00_0". Each device has its own, because a container may have several.
std::string variable_of(std::string_view device) {
  std::string variable = name_of(device);
  for (char& c : variable) c = c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return variable;
}

void require_present(const hardware::Node& node, std::string_view device) {
  const auto place = bus_id_of(device).empty() ? node.sysfs / "class/net" / interface_of(device)
                                               : hardware::path_of(node.sysfs, bus_id_of(device));
  std::error_code error;
  if (std::filesystem::exists(place, error)) return;
  throw cage::Error(CAGE_NOT_FOUND, "network device '" + std::string(device) +
                                        "' is not on this node any more; delete the claim, or bring the card back");
}

}  // namespace

void Claims::prepare(const cage::Call& call, const cage::Claim& claim, cage::Edits& edits) const {
  // What an earlier attempt has bound must be restored, too.
  std::string journal(claim.journal());
  bool changes_drivers = false;
  for (const cage::Allocation& allocation : claim.allocations()) {
    require_present(node_, allocation.device());
    if (!settings_of(allocation).vfio) continue;
    const std::string bus_id = bus_id_of(allocation.device());
    if (bus_id.empty())
      throw cage::Error(CAGE_INVALID_ARGUMENT, "mode Vfio is for PCI functions, and interface '" +
                                                   interface_of(allocation.device()) + "' is none; leave the mode out");
    if (allocation.admin())
      throw cage::Error(
          CAGE_INVALID_ARGUMENT,
          "mode Vfio takes the device from its user, and a claim with admin access must not; leave it out");
    for (const std::string& function : passthrough_.functions_with(bus_id)) {
      const std::string line = std::string(allocation.device()) + " " + function + "\n";
      if (!journal.contains(line)) journal += line;
    }
    changes_drivers = true;
  }
  if (journal != claim.journal()) edits.journal(journal);
  try {
    for (const cage::Allocation& allocation : claim.allocations())
      if (settings_of(allocation).vfio) passthrough_.give(call, allocation.device(), bus_id_of(allocation.device()));
  } catch (...) {
    host_.rescan();
    throw;
  }
  for (const cage::Allocation& allocation : claim.allocations()) add_edits(allocation, edits.of(allocation));
  if (changes_drivers) host_.rescan();  // the driver is an attribute
}

// A device that cannot be restored keeps no other. Throws the first error, once all was tried.
void Claims::unprepare(const cage::Call& call, const cage::Claim& claim) const {
  std::exception_ptr first;
  std::istringstream lines{std::string(claim.journal())};
  for (std::string device, function; lines >> device >> function;) {
    try {
      passthrough_.take_back(call, device, function);
    } catch (const cage::Error&) {
      if (!first) first = std::current_exception();
    }
  }
  if (!claim.journal().empty()) host_.rescan();
  if (first) std::rethrow_exception(first);
}

void Claims::add_edits(const cage::Allocation& allocation, cage::Edit edit) const {
  const std::string bus_id = bus_id_of(allocation.device());
  const Settings settings = settings_of(allocation);
  edit.env(variable_of(allocation.device()), bus_id.empty() ? interface_of(allocation.device()) : bus_id);
  if (settings.vhost_net) edit.device_node("/dev/vhost-net").device_node("/dev/net/tun");
  if (bus_id.empty()) return;
  // Somebody may have bound it before the claim came.
  if (settings.vfio || hardware::driver_of(node_.sysfs, bus_id) == vfio_driver_)
    return passthrough_.add_to(edit, bus_id, {.prefer_iommufd = false, .with_api_device = true});
  for (const std::string& node : rdma_nodes_of(hardware::path_of(node_.sysfs, bus_id), node_.devfs))
    edit.device_node(node);
}

}  // namespace cardcage::nic
