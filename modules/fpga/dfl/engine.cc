#include "modules/fpga/dfl/engine.h"

#include <fcntl.h>
#include <linux/fpga-dfl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstddef>

#include "modules/common/kernel_files.h"
#include "modules/common/pci_function.h"
#include "modules/fpga/holders.h"
#include "modules/fpga/manager/manager.h"

namespace cardcage::fpga {
namespace {

std::string subject(const Entry& bitstream, const DflCard& card) {
  return "bitstream '" + bitstream.name + "' cannot be loaded into card " + card.bus_id;
}

}  // namespace

std::string why_not_programmable(const DflCard& card) {
  if (!card.engine) return "only the physical function of a card has its management engine";
  if (card.engine->interface_id.empty())
    return card.engine->interface_fault + ", so it is unknown which bitstreams fit it";
  if (card.engine->interface_id.find_first_not_of('f') == std::string::npos)
    return "the interface id of its region reads as all ones: its shell or firmware has crashed; power-cycle the node";
  return {};
}

void require_fit(const DflCard& card, const Entry& bitstream) {
  const auto refuse = [&](const std::string& why) {
    throw cage::Error(CAGE_FAILED_PRECONDITION, subject(bitstream, card) + ": " + why);
  };
  if (bitstream.bitstream.format != Format::kGbs) refuse("it is not a GBS file, which this card needs");
  if (const std::string why = why_not_programmable(card); !why.empty()) refuse(why);
  if (!bitstream.card.empty() && bitstream.card != card.model)
    refuse("its manifest says that it is for " + bitstream.card + ", and the card is " +
           (card.model.empty() ? "of an unknown model" : "of the model " + card.model));
  if (bitstream.bitstream.interface_id != card.engine->interface_id)
    refuse("it was made for the interface " + bitstream.bitstream.interface_id + ", and the shell of the card has " +
           card.engine->interface_id + "; build it for this shell, or update the shell");
}

void program_region(const cage::Call& call, const Tools& tools, const DflCard& card, unsigned port,
                    const std::string& device, const Entry& bitstream) {
  dfl_fpga_fme_port_pr argument{};
  argument.argsz = sizeof argument;
  argument.port_id = port;
  argument.buffer_size = static_cast<__u32>(bitstream.bitstream.data_size);
  cage::Ioctl programming;
  programming.device = device;
  programming.path = tools.node.devfs / card.engine->node;
  programming.request = DFL_FPGA_FME_PORT_PR;
  programming.data_path = bitstream.file;
  programming.data_offset = offsetof(dfl_fpga_fme_port_pr, buffer_address);
  programming.data_start = bitstream.bitstream.data_start;
  programming.data_sha256 = bitstream.sha256;
  try {
    tools.host.ioctl(call, programming, argument);
  } catch (const cage::Error& error) {
    if (error.status() == CAGE_DATA_LOSS) throw;  // nothing was programmed
    const std::string state = card.engine->manager.empty() ? std::string() : state_of(card.engine->manager);
    throw cage::Error(error.status(), subject(bitstream, card) + ", port " + std::to_string(port) + ": " +
                                          error.what() + (state.empty() ? "" : "; the FPGA manager says " + state));
  }
}

void require_closed(const cage::Call& call, const Tools& tools, const DflCard& card, const std::string& device) {
  std::vector<std::string> nodes;
  for (const DflPort& port : card.ports) nodes.push_back(port.node);
  if (card.engine) nodes.push_back(card.engine->node);
  for (const std::string& node : nodes) {
    const std::filesystem::path path = tools.node.devfs / node;
    const auto refuse = [&](const std::string& why) {
      const std::string holders = holders_of(tools.node.procfs, "/dev/" + node);
      throw cage::Error(CAGE_FAILED_PRECONDITION, "the driver of card " + card.bus_id + " cannot be bound again: " +
                                                      why + (holders.empty() ? "" : "; it is open in " + holders));
    };
    const int descriptor = ::open(path.c_str(), O_RDWR | O_EXCL | O_CLOEXEC);
    if (descriptor >= 0) {
      ::close(descriptor);
      continue;
    }
    if (errno == EBUSY) refuse("'" + path.native() + "' is in use; end the process that has it open");
    // This process may not open the node, so the daemon opens it.
    cage::Ioctl look;
    look.device = device;
    look.path = path;
    look.request = DFL_FPGA_GET_API_VERSION;
    look.exclusive = true;
    try {
      tools.host.ioctl(call, look);
    } catch (const cage::Error& error) {
      refuse(error.what());
    }
  }
}

void bind_anew(const cage::Call& call, const Tools& tools, const DflCard& card, const std::string& device) {
  require_closed(call, tools, card, device);
  const auto unbind = tools.node.sysfs / "bus/pci/drivers" / kDflDriver / "unbind";
  tools.host.write_file(call, {.device = device, .path = unbind, .data = card.bus_id});
  bind(call, tools, card.bus_id, device);
}

void bind(const cage::Call& call, const Tools& tools, const std::string& bus_id, const std::string& device) {
  const auto bind = tools.node.sysfs / "bus/pci/drivers" / kDflDriver / "bind";
  tools.host.write_file(call, {.device = device, .path = bind, .data = bus_id});
  constexpr std::chrono::milliseconds kPollInterval{20};
  constexpr std::chrono::seconds kLimit{10};
  const auto has_ports = [&] {
    const auto card = read_dfl_card(tools.node, bus_id);
    return card && !card->ports.empty();
  };
  if (!call.wait_for(kLimit, kPollInterval, has_ports))
    throw cage::Error(CAGE_INTERNAL, "card " + bus_id + " has no ports after its driver " + kDflDriver +
                                         " was bound; the kernel's log says why");
}

bool lacks_driver(const Tools& tools, const std::string& bus_id) {
  return !model_of(tools.node, bus_id).empty() && hardware::driver_of(tools.node.sysfs, bus_id).empty();
}

// Source: drivers/fpga/fpga-mgr.c, the states between the first step and the last.
bool is_programming(const DflEngine& engine) {
  const std::string state = engine.manager.empty() ? std::string() : hardware::text_in(engine.manager / "state");
  return state == "parse header" || state == "write init" || state == "write" || state == "write complete";
}

void clear_error_file(const cage::Call& call, const Tools& tools, const std::string& device,
                      const std::filesystem::path& file) {
  const std::string errors = hardware::text_in(file);
  if (errors.find_first_not_of("0x") == std::string::npos) return;
  tools.host.write_file(call, {.device = device, .path = file, .data = errors});
}

void clear_engine_errors(const cage::Call& call, const Tools& tools, const DflCard& card, const std::string& device) {
  if (!card.engine) return;
  for (const char* name : {"fme_errors", "pcie0_errors", "pcie1_errors"})
    clear_error_file(call, tools, device, card.engine->folder / "errors" / name);
}

}  // namespace cardcage::fpga
