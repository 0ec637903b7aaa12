#include "modules/fpga/xrt/alveo.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <system_error>

#include "modules/common/kernel_files.h"
#include "modules/common/pci_function.h"
#include "modules/common/process.h"
#include "modules/fpga/bitstream/uuid.h"
#include "modules/fpga/holders.h"
#include "modules/fpga/inventory.h"
#include "modules/fpga/nodes.h"

namespace cardcage::fpga {
namespace {

namespace fs = std::filesystem;
using hardware::entry_in;
using hardware::number_in;
using hardware::text_in;

constexpr std::string_view kVendor = "0x10ee";
constexpr std::size_t kLongestMessage = 300;

struct AlveoModel {
  std::string_view device;  // PCI device id of the user function
  std::string_view name;
};
// Source: src/runtime_src/core/pcie/driver/linux/xocl/devices.h of XRT. The shell names the model, too, but not while
// it is being reset.
constexpr std::array kAlveoModels{
    AlveoModel{"0x5001", "U200"},    AlveoModel{"0x5005", "U250"},    AlveoModel{"0x5021", "U50"},
    AlveoModel{"0x505d", "U55C"},    AlveoModel{"0x506d", "U50C"},    AlveoModel{"0x513d", "U30"},
    AlveoModel{"0x5045", "VCK5000"}, AlveoModel{"0x5049", "VCK5000"}, AlveoModel{"0x5095", "V70"},
    AlveoModel{"0x50b5", "V80"},
};

std::string platform_in(const fs::path& folder) {
  const fs::path rom = entry_in(folder, "rom.u.");
  return rom.empty() ? std::string() : text_in(rom / "VBNV");
}

// Reads a UUID from each line; some releases of XRT write the number of a slot before it.
std::vector<std::string> uuids_of(std::string_view text) {
  std::vector<std::string> uuids;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    if (std::string uuid = normal_uuid(line.substr(line.rfind(' ') + 1)); !uuid.empty())  // npos + 1 is 0
      uuids.push_back(std::move(uuid));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
  return uuids;
}

// Returns the loaded functions from the attribute xclbinuuid. Slots without a function have zeros.
std::vector<std::string> functions_of(std::string_view xclbin_uuid) {
  std::vector<std::string> functions = uuids_of(xclbin_uuid);
  std::erase_if(functions, [](const std::string& id) { return id.find_first_not_of('0') == std::string::npos; });
  return functions;
}

const AlveoModel* known_model(const hardware::Node& node, const std::string& bus_id) {
  const hardware::PciIds ids = hardware::ids_of(node.sysfs, bus_id);
  const auto* const known = std::ranges::find(kAlveoModels, ids.device, &AlveoModel::device);
  return ids.vendor == kVendor && known != kAlveoModels.end() ? known : nullptr;
}

std::string alveo_model(const hardware::Node& node, const std::string& bus_id) {
  if (std::string model = model_of_platform(platform_in(hardware::path_of(node.sysfs, bus_id))); !model.empty())
    return model;
  const AlveoModel* const known = known_model(node, bus_id);
  return known == nullptr ? std::string() : std::string(known->name);
}

Identity alveo_identity(const Tools& tools, const std::string& bus_id) {
  return {.id = bus_id,
          .name = name_of_card(bus_id),
          .kind = "alveo",
          .card = bus_id,
          .bus_id = bus_id,
          .model = alveo_model(tools.node, bus_id)};
}

std::string last_line(std::string_view text) {
  const std::size_t end = text.find_last_not_of(" \r\n");
  if (end == std::string_view::npos) return {};
  text = text.substr(0, end + 1);
  return std::string(text.substr(text.rfind('\n') + 1));  // npos + 1 is 0
}

std::string joined(const std::vector<std::string>& texts) {
  std::string list;
  for (const std::string& text : texts) list += (list.empty() ? "" : ", ") + text;
  return list;
}

// Returns the numbers in a text such as "0000:65:00.1"; nothing unless exactly these separators are between them.
std::optional<std::vector<unsigned>> numbers_between(std::string_view separators, std::string_view text, int base) {
  std::vector<unsigned> numbers;
  const char *at = text.data(), *const end = at + text.size();
  for (;;) {
    const auto [stop, error] = std::from_chars(at, end, numbers.emplace_back(), base);
    if (error != std::errc()) return std::nullopt;
    if (stop == end) break;
    if (separators.empty() || *stop != separators.front()) return std::nullopt;
    separators.remove_prefix(1);
    at = stop + 1;
  }
  return separators.empty() ? std::optional(std::move(numbers)) : std::nullopt;
}

}  // namespace

Alveo::Alveo(const Tools& tools, const std::string& bus_id)
    : Target(alveo_identity(tools, bus_id)), tools_(tools), folder_(hardware::path_of(tools.node.sysfs, bus_id)) {}

std::string Alveo::platform() const { return platform_in(folder_); }

// Source: src/runtime_src/core/pcie/driver/linux/xocl/subdev/icap.c of XRT: levels above 0 demand a signature.
bool Alveo::takes_signed_only() const {
  const std::string management = management_function_of(tools_.node, identity().bus_id);
  if (management.empty()) return false;
  const fs::path folder = hardware::path_of(tools_.node.sysfs, management);
  const auto names = hardware::names_in(folder);
  return std::ranges::any_of(names, [&](const std::string& name) {
    return name.starts_with("icap.m.") && number_in(folder / name / "sec_level").value_or(0) > 0;
  });
}

std::string Alveo::why_not_confined() const {
  if (takes_signed_only()) return {};
  return "a container with its render node can load any xclbin; let its management function take signed ones only "
         "(sec_level)";
}

std::string Alveo::interface_id() const {
  const std::vector<std::string> interfaces = uuids_of(text_in(folder_ / "interface_uuids"));
  return interfaces.empty() ? std::string() : interfaces.front();
}

Function Alveo::function() const {
  const hardware::Reading id = hardware::read_attribute(folder_ / "xclbinuuid");
  if (id.error != 0)
    return {.id = {}, .why = "its xclbinuuid cannot be read: " + std::generic_category().message(id.error)};
  // The attribute is empty for a moment while the driver loads an xclbin.
  if (!id.text.empty() && uuids_of(id.text).empty())
    return {.id = {}, .why = "its xclbinuuid is '" + printable(id.text) + "', which is not a UUID"};
  std::vector<std::string> functions = functions_of(id.text);
  if (functions.empty()) return {.id = {}, .why = "nothing is loaded"};
  if (functions.size() > 1) return {.id = {}, .why = "its slots have different functions: " + joined(functions)};
  return {.id = std::move(functions.front()), .why = {}};
}

std::string Alveo::why_not_ready() const {
  if (number_in(folder_ / "dev_offline").value_or(0) != 0)
    return "XRT's driver has taken it offline, as during a reset";
  if (number_in(folder_ / "ready") != 1)
    return "XRT's driver says that it is not ready; see '" + tools_.xrt_program + " examine --device " +
           identity().bus_id + "'";
  return {};
}

std::string Alveo::why_not_programmable() const {
  if (std::string why = why_not_ready(); !why.empty()) return why;
  if (!tools_.host.has_programs())
    return "only XRT can program it, and the module may run no program; add the path of '" + tools_.xrt_program +
           "' to the key programs of its [[module]]";
  return {};
}

void Alveo::describe(cage::Device& device) const {
  device.attribute("signedOnly", takes_signed_only());
  if (const std::string shell = platform(); !shell.empty()) device.attribute("shellId", shell);
  if (const auto logic = uuids_of(text_in(folder_ / "logic_uuids")); !logic.empty())
    device.attribute("logicUuid", logic.front());
  if (const fs::path controller = entry_in(folder_, "xmc.u."); !controller.empty())
    if (const std::string serial = text_in(controller / "serial_num"); !serial.empty())
      device.attribute("serial", serial);
  const std::string version = version_of_driver(text_in(tools_.node.sysfs / "module/xocl/version"));
  if (!version.empty()) device.attribute("xrtVersion", cage::Version{version});
}

void Alveo::require_fit(const Entry& bitstream) const {
  const auto refuse = [&](const std::string& why) {
    throw cage::Error(CAGE_FAILED_PRECONDITION, "bitstream '" + bitstream.name + "' cannot be loaded into card " +
                                                    identity().bus_id + ": " + why);
  };
  if (bitstream.bitstream.format != Format::kXclbin) refuse("it is not an xclbin file, which this card needs");
  if (const std::string why = why_not_programmable(); !why.empty()) refuse(why);
  const std::string& model = identity().model;
  if (!bitstream.card.empty() && bitstream.card != model)
    refuse("its manifest says that it is for " + bitstream.card + ", and the card is " +
           (model.empty() ? "of an unknown model" : "a " + model));
  const std::string& wanted = bitstream.bitstream.interface_id;
  const std::vector<std::string> interfaces = uuids_of(text_in(folder_ / "interface_uuids"));
  if (!wanted.empty() && !interfaces.empty()) {  // the card has one for each stage of its shell
    if (std::ranges::find(interfaces, wanted) != interfaces.end()) return;
    refuse("it was made for the interface " + wanted + ", and the shell of the card has " + joined(interfaces) +
           "; build it for this shell, or flash the shell that it needs");
  }
  const std::string shell = platform();
  if (shell.empty()) refuse("the card tells neither its interface nor its platform");
  if (!is_same_platform(bitstream.bitstream.platform, shell))
    refuse("it was made for the platform '" + printable(bitstream.bitstream.platform) + "', and the card has '" +
           printable(shell) + "'; build it for this platform, or flash the one that it needs");
}

void Alveo::run(const cage::Call& call, const std::string& purpose, std::vector<std::string> arguments) const {
  // XRT installs a shell script that finds its libraries and runs the actual program.
  const cage::ProgramResult result = tools_.host.run(call, {.name = tools_.xrt_program,
                                                            .arguments = std::move(arguments),
                                                            .environment = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin"}});
  if (const std::string why = why_failed(tools_.xrt_program, result); !why.empty())
    throw cage::Error(CAGE_INTERNAL, purpose + ": " + why);
}

void Alveo::program(const cage::Call& call, const Entry& bitstream) const {
  const std::string purpose = "bitstream '" + bitstream.name + "' cannot be loaded into card " + identity().bus_id;
  require_unused(purpose, CAGE_UNAVAILABLE);
  const OwnedFile checked = check_sha256(bitstream, {});
  run(call, purpose, {"program", "--device", identity().bus_id, "--user", checked.path()});
  const std::vector<std::string> loaded = functions_of(text_in(folder_ / "xclbinuuid"));
  const std::string& wanted = bitstream.bitstream.function_id;
  if (wanted.empty() ? loaded.empty() : std::ranges::find(loaded, wanted) == loaded.end())
    throw cage::Error(CAGE_INTERNAL, purpose + ": '" + tools_.xrt_program + "' reported success, but the card has " +
                                         (loaded.empty() ? "no function" : "the function " + joined(loaded)) +
                                         "; look at the kernel's log");
}

// Checks for users first: XRT itself resets a card that is in use.
void Alveo::reset(const cage::Call& call) const {
  const std::string purpose = "card " + identity().bus_id + " cannot be reset";
  require_unused(purpose, CAGE_FAILED_PRECONDITION);
  if (!why_not_resettable().empty()) return;
  run(call, purpose, {"reset", "--device", identity().bus_id, "--force"});
  if (const std::string why = why_not_ready(); !why.empty())
    throw cage::Error(CAGE_UNAVAILABLE, "card " + identity().bus_id + " has not come back from its reset: " + why);
}

std::string Alveo::why_not_resettable() const {
  return identity().model == "U30" ? "XRT resets both of its FPGAs at once, and the other may be in use"
                                   : std::string();
}

std::string Alveo::render_node() const { return entry_in(folder_ / "drm", "renderD").filename(); }

// XRT does not refuse to change a card that is in use.
void Alveo::require_unused(const std::string& purpose, cage_status status) const {
  const std::string node = render_node();
  if (node.empty()) return;
  if (const std::string why = hardware::why_users_are_hidden(tools_.node.procfs); !why.empty())
    throw cage::Error(CAGE_FAILED_PRECONDITION, purpose + ": whether it is in use cannot be known, since " + why);
  if (const std::string users = holders_of(tools_.node.procfs, "/dev/dri/" + node); !users.empty())
    throw cage::Error(status, purpose + ": it is open in " + users);
}

void Alveo::add_to(cage::Edit edit, const Entry* /*loaded*/) const {
  const std::string node = render_node();
  if (node.empty())
    throw cage::Error(CAGE_UNAVAILABLE,
                      "card " + identity().bus_id + " has no render node; is it being reset, or has xocl failed?");
  edit.device_node(node_of("/dev/dri/" + node, text_in(folder_ / "drm" / node / "dev")));
  if (const auto instance = instance_of(identity().bus_id)) {
    const std::string queues = "xfpga/dma.qdma.u" + std::to_string(*instance) + ".0";
    std::error_code error;
    if (fs::exists(tools_.node.devfs / queues, error)) edit.device_node(node_of("/dev/" + queues));
  }
}

bool is_known_alveo(const hardware::Node& node, const std::string& bus_id) {
  return known_model(node, bus_id) != nullptr;
}

std::unique_ptr<Target> find_alveo(const Tools& tools, const std::string& bus_id) {
  std::error_code error;
  if (!fs::exists(hardware::path_of(tools.node.sysfs, bus_id) / "user_pf", error)) return nullptr;
  return std::make_unique<Alveo>(tools, bus_id);
}

std::string management_function_of(const hardware::Node& node, const std::string& bus_id) {
  const std::string function = std::string(hardware::slot_of(bus_id)) + ".0";
  std::error_code error;
  return fs::exists(hardware::path_of(node.sysfs, function) / "mgmt_pf", error) ? function : std::string();
}

std::string model_of_platform(std::string_view platform) {
  const std::size_t vendor = platform.find_first_of("_:");
  if (vendor == std::string_view::npos) return {};
  platform.remove_prefix(vendor + 1);
  std::string model(platform.substr(0, platform.find_first_of("_:")));
  for (char& c : model) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return model;
}

bool is_same_platform(std::string_view one, std::string_view other) {
  const auto plain = [](char c) { return c == ':' || c == '.' ? '_' : c; };
  return std::ranges::equal(one, other, {}, plain, plain);
}

std::optional<unsigned> instance_of(std::string_view bus_id) {
  const auto parts = numbers_between("::.", bus_id, 16);
  if (!parts) return std::nullopt;
  const unsigned domain = (*parts)[0], bus = (*parts)[1], device = (*parts)[2], function = (*parts)[3];
  return ((domain * 256 + bus) * 32 + device) * 8 + function;
}

std::string version_of_driver(std::string_view text) {
  const auto parts = numbers_between("..", text.substr(0, text.find(',')), 10);
  if (!parts) return {};
  return std::to_string((*parts)[0]) + "." + std::to_string((*parts)[1]) + "." + std::to_string((*parts)[2]);
}

// A failed reset ends with status 0; only the output shows the failure.
std::string why_failed(const std::string& program, const cage::ProgramResult& result) {
  if (result.timed_out) return "'" + program + "' did not end in time";
  if (result.signal != 0) return "'" + program + "' was killed by signal " + std::to_string(result.signal);
  if (result.exit_status == 0 && result.out.find("Reset failed") == std::string::npos) return {};
  const std::string said = last_line(result.err), printed = last_line(result.out);
  if (said.empty() && printed.empty())
    return "'" + program + "' ended with status " + std::to_string(result.exit_status);
  return "'" + program + "' says: " + printable(said.empty() ? printed : said, kLongestMessage);
}

}  // namespace cardcage::fpga
