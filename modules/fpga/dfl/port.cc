#include "modules/fpga/dfl/port.h"

#include <fcntl.h>
#include <linux/fpga-dfl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "modules/common/kernel_files.h"
#include "modules/common/pci_function.h"
#include "modules/fpga/bitstream/uuid.h"
#include "modules/fpga/dfl/engine.h"
#include "modules/fpga/dfl/user_clock.h"
#include "modules/fpga/holders.h"
#include "modules/fpga/inventory.h"
#include "modules/fpga/nodes.h"

namespace cardcage::fpga {
namespace {

constexpr const char* kLent = "a claim holds the port as a virtual function";

Identity port_identity(const DflCard& card, const DflPort& port) {
  const std::string number = std::to_string(port.number);
  return {.id = card.bus_id + "/port-" + number,
          .name = name_of_card(card.bus_id) + "-p" + number,
          .kind = "port",
          .card = card.bus_id,
          .physical = card.physical,
          .bus_id = card.bus_id,
          .model = card.model};
}

}  // namespace

Port::Port(const Tools& tools, const DflCard& card, const DflPort& port)
    : Target(port_identity(card, port)), tools_(tools), card_(card), port_(port) {}

std::string Port::interface_id() const { return card_.shell ? card_.shell->interface_id : std::string(); }

Function Port::function() const {
  if (port_.is_lent) return {.id = {}, .why = kLent};
  const hardware::Reading id = hardware::read_attribute(port_.folder / "afu_id");
  if (id.error == EBUSY)
    return {.id = {},
            .why =
                "the port is disabled: it is being programmed, was released to a virtual function, or was left so by a "
                "programming that failed, until dfl-pci is bound to the card again"};
  if (id.error != 0) return {.id = {}, .why = std::string("its afu_id cannot be read: ") + std::strerror(id.error)};
  std::string uuid = normal_uuid(id.text);
  if (uuid.empty()) return {.id = {}, .why = "its afu_id is '" + id.text + "', which is not a UUID"};
  return {.id = std::move(uuid), .why = {}};
}

std::string Port::why_not_programmable() const { return fpga::why_not_programmable(card_); }

bool Port::is_being_programmed() const { return card_.engine && is_programming(*card_.engine); }

void Port::describe(cage::Device& device) const {
  describe_card(tools_.node, card_, device);
  device.attribute("portId", port_.number);
}

void Port::require_fit(const Entry& bitstream) const {
  fpga::require_fit(card_, bitstream);
  if (!port_.is_lent) require_clock(tools_, card_, port_, bitstream);
}

bool Port::has_clock(const cage::Call& call, const Entry& bitstream) const {
  const auto wanted = clock_for(bitstream);
  return !wanted || UserClock(tools_, card_, port_, identity().id).suits(call, *wanted);
}

void Port::set_clock(const cage::Call& call, const Entry& bitstream) const {
  if (const auto wanted = clock_for(bitstream)) UserClock(tools_, card_, port_, identity().id).set(call, *wanted);
}

void Port::program(const cage::Call& call, const Entry& bitstream) const {
  program_region(call, tools_, card_, port_.number, identity().id, bitstream);
}

// Binding the driver again would take the card's other ports from their users.
bool Port::is_kept_disabled() const {
  return card_.engine && !port_.is_lent && card_.ports.size() == 1 &&
         hardware::read_attribute(port_.folder / "afu_id").error == EBUSY;
}

void Port::require_revivable(const cage::Call& call) const {
  if (is_kept_disabled()) require_closed(call, tools_, card_, identity().id);
}

bool Port::revive(const cage::Call& call) const {
  if (!is_kept_disabled()) return false;
  bind_anew(call, tools_, card_, identity().id);
  return true;
}

void Port::reset(const cage::Call& call) const {
  if (port_.is_lent) throw_held(CAGE_FAILED_PRECONDITION, kLent);
  cage::Ioctl reset;
  reset.device = identity().id;
  reset.path = tools_.node.devfs / port_.node;
  reset.request = DFL_FPGA_PORT_RESET;
  reset.exclusive = true;  // fails if a process has the port open
  try {
    tools_.host.ioctl(call, reset);
  } catch (const cage::Error& error) {
    throw_held(error.status(), error.what());
  }
}

std::string Port::why_not_resettable() const { return port_.is_lent ? kLent : std::string(); }

// Unlike reset(), needs no process of the daemon: an open does not wait for the hardware.
void Port::require_idle(const cage::Call& call) const {
  if (port_.is_lent) throw_held(CAGE_FAILED_PRECONDITION, kLent);
  const std::filesystem::path node = tools_.node.devfs / port_.node;
  const int descriptor = ::open(node.c_str(), O_RDWR | O_EXCL | O_CLOEXEC);
  if (descriptor >= 0)
    ::close(descriptor);
  else if (errno == EBUSY)
    throw_held(CAGE_FAILED_PRECONDITION, "'" + node.native() + "' is in use: end the process that has it open");
  else
    reset(call);  // this process may not open the node
}

void Port::throw_held(cage_status status, const std::string& why) const {
  const std::string holders = port_.is_lent ? std::string() : holders_of(tools_.node.procfs, "/dev/" + port_.node);
  throw cage::Error(status, "port " + std::to_string(port_.number) + " of card " + card_.bus_id +
                                " cannot be reset: " + why + (holders.empty() ? "" : "; it is open in " + holders));
}

void Port::clear_errors(const cage::Call& call) const {
  if (port_.is_lent) return;
  clear_error_file(call, tools_, identity().id, port_.folder / "errors/errors");
  if (card_.ports.size() == 1) clear_engine_errors(call, tools_, card_, identity().id);
}

std::vector<unsigned> Port::ports_to_lend() const {
  const auto refuse = [&](const char* why) {
    throw cage::Error(CAGE_FAILED_PRECONDITION,
                      "device '" + identity().id + "' cannot be given as a virtual function: " + why);
  };
  if (!card_.engine) refuse("it is on one already");
  if (card_.ports.size() > 1)
    refuse("the ports of a card become virtual functions together; ask for the card as a whole");
  return {port_.number};
}

void Port::add_to(cage::Edit edit, const Entry* /*loaded*/) const {
  edit.device_node(node_of("/dev/" + port_.node, numbers_of(port_.folder)));
}

void describe_card(const hardware::Node& node, const DflCard& card, cage::Device& device) {
  if (const auto hash = root_entry_hash(node, card.physical.empty() ? card.bus_id : card.physical)) {
    device.attribute("signedOnly", !hash->empty());
    if (!hash->empty()) device.attribute("rootEntryHash", *hash);
  }
  if (!card.shell) return;
  if (const auto shell = read_shell(*card.shell))
    device.attribute("shellId", shell->id).attribute("shellVersion", cage::Version{shell->version});
}

}  // namespace cardcage::fpga
