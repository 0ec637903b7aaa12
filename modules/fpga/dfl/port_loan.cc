#include "modules/fpga/dfl/port_loan.h"

#include <linux/fpga-dfl.h>

#include <algorithm>

#include "modules/common/kernel_files.h"
#include "modules/common/pci_function.h"
#include "modules/fpga/dfl/engine.h"
#include "modules/fpga/dfl/virtual_function.h"

namespace cardcage::fpga {

void PortLoan::require_possible() const {
  const auto refuse = [&](const std::string& why) {
    throw cage::Error(CAGE_FAILED_PRECONDITION,
                      "the ports of card " + card_ + " cannot be given as virtual functions: " + why);
  };
  const auto function = hardware::path_of(tools_.node.sysfs, card_);
  if (hardware::number_in(function / "sriov_totalvfs").value_or(0) < numbers_.size())
    refuse("the card offers fewer virtual functions than it has ports");
  if (hardware::virtual_functions_in_use(tools_.node.sysfs, card_) > 0)
    refuse("it has some already; remove them: echo 0 > sriov_numvfs");
  if (hardware::iommu_group_of(tools_.node.sysfs, card_).empty())
    refuse("it is in no IOMMU group; turn on the IOMMU in the firmware and on the kernel's command line");
}

bool PortLoan::is_made() const {
  const auto functions = hardware::virtual_functions_of(tools_.node.sysfs, card_);
  return functions.size() == numbers_.size() && std::ranges::all_of(functions, [&](const std::string& function) {
           return hardware::driver_of(tools_.node.sysfs, function) == tools_.vfio_driver;
         });
}

void PortLoan::make(const cage::Call& call) const {
  const auto card = read_dfl_card(tools_.node, card_);
  if (!card || !card->engine) throw cage::Error(CAGE_NOT_FOUND, "card " + card_ + " has lost its management engine");
  for (const unsigned number : numbers_) change_port(call, *card, DFL_FPGA_FME_PORT_RELEASE, number);
  set_function_count(call, numbers_.size());
  for (const std::string& function : hardware::virtual_functions_of(tools_.node.sysfs, card_)) {
    if (const auto part = read_dfl_card(tools_.node, function)) require_closed(call, tools_, *part, device_);
    tools_.passthrough.give(call, device_, function);
  }
}

void PortLoan::undo(const cage::Call& call) const {
  if (has_all_ports()) return;
  const auto functions = hardware::virtual_functions_of(tools_.node.sysfs, card_);
  for (const std::string& function : functions) {
    require_unused(tools_, function);
    if (const auto part = read_dfl_card(tools_.node, function)) require_closed(call, tools_, *part, device_);
  }
  if (!functions.empty()) set_function_count(call, 0);
  if (lacks_driver(tools_, card_)) bind(call, tools_, card_, device_);
  const auto card = read_dfl_card(tools_.node, card_);
  if (!card || !card->engine) return;  // the card is gone
  for (const unsigned number : numbers_) {
    if (std::ranges::find(card->ports, number, &DflPort::number) == card->ports.end()) assign(call, *card, number);
  }
  // Linux 6.12 binds no driver to a port that is assigned again.
  if (!has_all_ports()) bind_anew(call, tools_, *read_dfl_card(tools_.node, card_), device_);
  for (const std::string& function : functions) forget_driver_of(call, function);
}

// Makes the daemon forget the driver of a function that no longer exists.
void PortLoan::forget_driver_of(const cage::Call& call, const std::string& function) const {
  try {
    tools_.passthrough.take_back(call, device_, function);
  } catch (const cage::Error& error) {
    if (error.status() != CAGE_PERMISSION_DENIED) throw;  // a module that may not bind drivers has bound none
  }
}

void PortLoan::add_to(cage::Edit edit) const {
  for (const std::string& function : hardware::virtual_functions_of(tools_.node.sysfs, card_))
    tools_.passthrough.add_to(edit, function, {.with_api_device = true});
}

void PortLoan::set_function_count(const cage::Call& call, std::size_t count) const {
  const auto file = hardware::path_of(tools_.node.sysfs, card_) / "sriov_numvfs";
  tools_.host.write_file(call, {.device = device_, .path = file, .data = std::to_string(count)});
}

void PortLoan::assign(const cage::Call& call, const DflCard& card, unsigned number) const {
  try {
    change_port(call, card, DFL_FPGA_FME_PORT_ASSIGN, number);
  } catch (const cage::Error& error) {
    // An earlier attempt may have assigned the port; then only its driver is missing.
    tools_.host.warn() << "port " << number << " of card " << card_ << ": " << error.what();
  }
}

void PortLoan::change_port(const cage::Call& call, const DflCard& card, unsigned long request, unsigned number) const {
  cage::Ioctl change;
  change.device = device_;
  change.path = tools_.node.devfs / card.engine->node;
  change.request = request;
  int argument = static_cast<int>(number);
  tools_.host.ioctl(call, change, argument);
}

bool PortLoan::has_all_ports() const {
  const auto card = read_dfl_card(tools_.node, card_);
  return card && std::ranges::all_of(numbers_, [&](unsigned number) {
           return std::ranges::find(card->ports, number, &DflPort::number) != card->ports.end();
         });
}

}  // namespace cardcage::fpga
