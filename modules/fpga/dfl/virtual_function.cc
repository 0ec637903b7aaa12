#include "modules/fpga/dfl/virtual_function.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "modules/common/pci_function.h"
#include "modules/fpga/dfl/engine.h"
#include "modules/fpga/dfl/port.h"
#include "modules/fpga/holders.h"
#include "modules/fpga/inventory.h"

namespace cardcage::fpga {
namespace {

constexpr const char* kWholeCard = "its region serves all virtual functions of the card; ask for the card as a whole";

Identity virtual_function_identity(const DflCard& card, const std::string& bus_id) {
  return {.id = bus_id,
          .name = name_of_card(bus_id),
          .kind = "vf",
          .card = card.bus_id,
          .bus_id = bus_id,
          .model = card.model};
}

}  // namespace

VirtualFunction::VirtualFunction(const Tools& tools, const DflCard& card, const std::string& bus_id, bool is_part)
    : Target(virtual_function_identity(card, bus_id)), tools_(tools), card_(card), is_part_(is_part) {}

bool VirtualFunction::is_being_programmed() const { return is_programming(*card_.engine); }

std::string VirtualFunction::interface_id() const { return card_.engine->interface_id; }

Function VirtualFunction::function() const {
  return {.id = {}, .why = "the kernel does not show the functions of virtual functions"};
}

std::string VirtualFunction::why_not_programmable() const { return kWholeCard; }

void VirtualFunction::describe(cage::Device& device) const { describe_card(tools_.node, card_, device); }

void VirtualFunction::require_fit(const Entry& bitstream) const {
  throw cage::Error(CAGE_FAILED_PRECONDITION,
                    "bitstream '" + bitstream.name + "' cannot be loaded for " + identity().bus_id + ": " + kWholeCard);
}

void VirtualFunction::program(const cage::Call&, const Entry& bitstream) const { require_fit(bitstream); }

// Only one process at a time can open a VFIO group, so an attempt shows whether a process has it.
void require_unused(const Tools& tools, const std::string& bus_id) {
  const std::string group = hardware::iommu_group_of(tools.node.sysfs, bus_id);
  const int descriptor = ::open((tools.node.devfs / "vfio" / group).c_str(), O_RDWR | O_CLOEXEC);
  const int error = descriptor < 0 ? errno : 0;
  if (descriptor >= 0) ::close(descriptor);
  if (error == 0 || error == ENOENT) return;
  const std::string holders = holders_of(tools.node.procfs, "/dev/vfio/" + group);
  throw cage::Error(CAGE_FAILED_PRECONDITION, "virtual function " + bus_id + " cannot be reset: /dev/vfio/" + group +
                                                  ": " + std::strerror(error) +
                                                  (holders.empty() ? "" : ", it is open in " + holders));
}

// The kernel resets a function when its last descriptor is closed; this reset is for a function that was never opened.
void VirtualFunction::reset(const cage::Call& call) const {
  require_unused(tools_, identity().bus_id);
  if (!why_not_resettable().empty()) return;
  tools_.host.write_file(call, {.device = identity().id, .path = reset_file(), .data = "1"});
}

std::string VirtualFunction::why_not_resettable() const {
  return std::filesystem::exists(reset_file()) ? std::string() : "the kernel knows no way to reset it";
}

std::filesystem::path VirtualFunction::reset_file() const {
  return hardware::path_of(tools_.node.sysfs, identity().bus_id) / "reset";
}

std::vector<std::string> VirtualFunction::functions_to_bind() const {
  const std::string& bus_id = identity().bus_id;
  std::vector<std::string> functions = tools_.passthrough.functions_with(bus_id);
  for (const std::string& other : hardware::iommu_neighbours_of(tools_.node.sysfs, bus_id))
    if (!is_part_ && !hardware::physical_function_of(tools_.node.sysfs, other).empty())
      throw cage::Error(CAGE_FAILED_PRECONDITION, "virtual function " + bus_id + " shares its IOMMU group with " +
                                                      other +
                                                      ", so a claim for one gets both; use a slot with ACS, or ask for "
                                                      "the card as a whole");
  if (hardware::driver_of(tools_.node.sysfs, bus_id) == tools_.vfio_driver) return {};  // bound by an administrator
  return functions;
}

void VirtualFunction::bind(const cage::Call& call) const {
  if (!functions_to_bind().empty()) tools_.passthrough.give(call, identity().id, identity().bus_id);
}

void VirtualFunction::add_to(cage::Edit edit, const Entry* /*loaded*/) const {
  tools_.passthrough.add_to(edit, identity().bus_id, {.with_api_device = true});
}

}  // namespace cardcage::fpga
