#include "modules/fpga/manager/manager.h"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <map>
#include <set>
#include <system_error>

#include "modules/common/kernel_files.h"
#include "modules/fpga/manager/firmware.h"
#include "modules/fpga/nodes.h"

namespace cardcage::fpga {
namespace {

namespace fs = std::filesystem;
using hardware::text_in;

constexpr std::size_t kLongestLabel = 63;

bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }
bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

// Returns whether the manager is part of a PCI card, which is a target of another kind.
bool is_of_card(const fs::path& place) {
  return std::ranges::any_of(place, [](const fs::path& part) {
    const std::string& name = part.native();
    return name.starts_with("dfl-fme") || (name.starts_with("pci") && name.find(':') != std::string::npos);
  });
}

// Adds a number if the name is taken.
std::string unique(const std::string& name, std::set<std::string>& taken) {
  std::string one = name;
  for (unsigned number = 2; !taken.insert(one).second; ++number) {
    const std::string suffix = "-" + std::to_string(number);
    one = name.substr(0, kLongestLabel - suffix.size()) + suffix;
  }
  return one;
}

}  // namespace

Manager::Manager(const Tools& tools, Identity identity, fs::path folder)
    : Target(std::move(identity)), tools_(tools), folder_(std::move(folder)) {}

bool Manager::takes_files() const {
  std::error_code error;
  return fs::exists(folder_ / "firmware", error);
}

bool Manager::takes_overlays() const {
  std::error_code error;
  return fs::exists(overlay().parent_path(), error);
}

fs::path Manager::overlay() const {
  return tools_.node.sysfs / "kernel/config/device-tree/overlays" / ("cardcage-" + identity().name);
}

Function Manager::function() const {
  const std::string applied = text_in(overlay() / "path");
  return {.id = {},
          .why = "the kernel does not tell what is loaded" +
                 (applied.empty() ? std::string() : "; the overlay '" + printable(applied) + "' is applied")};
}

std::string Manager::why_not_programmable() const {
  if (takes_files() || takes_overlays()) return {};
  return "this kernel programs it only through the device tree that the node booted with; use a kernel that has the "
         "attribute 'firmware' or device-tree overlays in configfs";
}

void Manager::describe(cage::Device& device) const {
  if (const std::string name = text_in(folder_ / "name"); !name.empty()) device.attribute("manager", name);
}

void Manager::require_fit(const Entry& bitstream) const {
  const auto refuse = [&](const std::string& why) {
    throw cage::Error(CAGE_FAILED_PRECONDITION,
                      "bitstream '" + bitstream.name + "' cannot be loaded into FPGA " + identity().id + ": " + why);
  };
  if (bitstream.bitstream.format != Format::kRaw)
    refuse(std::string("it is ") + (bitstream.bitstream.format == Format::kGbs ? "a GBS" : "an xclbin") +
           " file, which is for PCI cards");
  if (const std::string why = why_not_programmable(); !why.empty()) refuse(why);
  if (!bitstream.card.empty() && bitstream.card != identity().model)
    refuse("its manifest says that it is for " + bitstream.card + ", and the board is " +
           (identity().model.empty() ? "of an unknown model" : "a " + identity().model));
  if (!bitstream.bitstream.interface_id.empty())
    refuse("its manifest names an interface, which this FPGA does not tell; remove the key 'interface'");
  if (bitstream.overlay.empty() && !takes_files())
    refuse("it has no overlay, and this kernel loads bitstreams with overlays only; add the key 'overlay'");
  if (!bitstream.overlay.empty() && !takes_overlays())
    refuse("it has an overlay, and the node has no folder " + overlay().parent_path().native() +
           "; mount configfs, or use a kernel with device-tree overlays in it");
  try {
    name_for_kernel(bitstream);
  } catch (const cage::Error& error) {
    refuse(error.what());
  }
}

std::string Manager::name_for_kernel(const Entry& bitstream) const {
  const std::vector<fs::path> folders = firmware_folders(tools_.node.sysfs);
  std::string name = firmware_name(bitstream.file, folders);
  if (bitstream.overlay.empty()) return name;
  // The catalogue has compared the overlay's firmware-name with the plain name of the file.
  if (name == bitstream.file.filename()) return firmware_name(bitstream.overlay, folders);
  const std::string folder = bitstream.file.parent_path();
  fpga::refuse("its overlay names '" + bitstream.file.filename().native() +
               "', which the kernel does not look for in " + folder + "; add firmware_class.path=" + folder +
               " to the kernel's command line");
}

void Manager::program(const cage::Call& call, const Entry& bitstream) const {
  check_sha256(bitstream, {});
  try {
    load(call, bitstream);
  } catch (const cage::Error& error) {
    throw cage::Error(error.status(), "bitstream '" + bitstream.name + "' cannot be loaded into FPGA " + identity().id +
                                          ": " + error.what());
  }
}

void Manager::load(const cage::Call& call, const Entry& bitstream) const {
  const std::string name = name_for_kernel(bitstream);
  remove_overlay();
  if (bitstream.overlay.empty()) {
    std::error_code error;
    if (fs::exists(folder_ / "flags", error)) write(call, folder_ / "flags", "0");  // full configuration, not encrypted
    write(call, folder_ / "firmware", name);
  } else {
    apply_overlay(call, name);
  }
  if (text_in(folder_ / "state") != "operating")
    throw cage::Error(CAGE_INTERNAL, "it was written, but the FPGA manager says " + state_of(folder_));
  wait_for_nodes(call, bitstream);
}

void Manager::write(const cage::Call& call, const fs::path& file, std::string data) const {
  try {
    tools_.host.write_file(call, {.device = identity().id, .path = file, .data = std::move(data)});
  } catch (const cage::Error& error) {
    throw cage::Error(error.status(), error.what() + ("; the FPGA manager says " + state_of(folder_)));
  }
}

// The kernel makes the files of an overlay with its folder, and undoes the overlay when the folder is removed.
void Manager::apply_overlay(const cage::Call& call, const std::string& name) const {
  std::error_code error;
  if (!fs::create_directory(overlay(), error))
    throw cage::Error(CAGE_UNAVAILABLE, "the folder " + overlay().native() + " cannot be made: " + error.message());
  try {
    write(call, overlay() / "path", name);
    if (const std::string status = text_in(overlay() / "status"); status != "applied")
      throw cage::Error(CAGE_INTERNAL, "its overlay is '" + printable(status) + "' and not applied");
  } catch (const cage::Error&) {
    fs::remove(overlay(), error);
    throw;
  }
}

void Manager::remove_overlay() const {
  std::error_code error;
  fs::remove(overlay(), error);
  if (error)
    throw cage::Error(CAGE_UNAVAILABLE, "the overlay " + overlay().native() + " of an earlier bitstream cannot be " +
                                            "removed: " + error.message());
}

// Drivers may take a while to find the devices of an overlay.
void Manager::wait_for_nodes(const cage::Call& call, const Entry& bitstream) const {
  constexpr std::chrono::milliseconds kLimit{2000}, kPause{50};
  for (const std::string& node : bitstream.nodes) {
    const fs::path file = tools_.node.devfs / fs::path(node).lexically_relative("/dev");
    std::error_code error;
    if (!call.wait_for(kLimit, kPause, [&] { return fs::exists(file, error); }))
      throw cage::Error(CAGE_FAILED_PRECONDITION, "it is loaded, but the node " + node +
                                                      " that its manifest names has not appeared; correct 'nodes'");
  }
}

void Manager::reset(const cage::Call&) const { remove_overlay(); }

void Manager::add_to(cage::Edit edit, const Entry* loaded) const {
  if (loaded == nullptr)
    throw cage::Error(CAGE_INVALID_ARGUMENT, "FPGA '" + identity().id +
                                                 "' has no nodes of its own; name a bitstream in the claim, whose "
                                                 "manifest has its nodes");
  for (const std::string& node : loaded->nodes) {
    const std::string name = fs::path(node).filename();
    const bool is_uio = name.starts_with("uio");
    edit.device_node(node_of(node, is_uio ? text_in(tools_.node.sysfs / "class/uio" / name / "dev") : std::string()));
  }
}

void add_managers(const Tools& tools, Targets& targets) {
  const fs::path all = tools.node.sysfs / "class/fpga_manager";
  std::map<std::string, fs::path> folders;  // by device name, which is stable, unlike the number of the manager
  for (const std::string& name : hardware::names_in(all)) {
    std::error_code error;
    const fs::path place = fs::canonical(all / name, error);
    const std::string device = hardware::target_name(all / name / "device");
    if (!error && !device.empty() && !is_of_card(place)) folders.emplace(device, all / name);
  }
  const std::string model = board_of(text_in(tools.node.sysfs / "firmware/devicetree/base/model"));
  std::set<std::string> names;
  for (const auto& [device, folder] : folders) {
    const std::string id = "manager/" + device;
    Identity identity{.id = id,
                      .name = unique(name_of_manager(device), names),
                      .kind = "manager",
                      .card = id,
                      .bus_id = {},
                      .model = model};
    targets.push_back(std::make_unique<Manager>(tools, std::move(identity), folder));
  }
}

std::string state_of(const fs::path& manager) {
  const std::string state = text_in(manager / "state"), status = text_in(manager / "status");
  return "state '" + state + "'" + (status.empty() ? "" : ", " + status);
}

std::string name_of_manager(std::string_view device) {
  std::string_view part = device.substr(device.find_last_of(":.") + 1);  // npos + 1 is 0
  if (std::ranges::none_of(part, is_letter)) part = device;              // "spi0.0"
  std::string name = "fpga-";
  for (const char c : part) {
    name += is_letter(c) || is_digit(c) ? static_cast<char>(std::tolower(static_cast<unsigned char>(c))) : '-';
  }
  name.resize(std::min(name.size(), kLongestLabel));
  name.resize(name.find_last_not_of('-') + 1);
  return name;
}

std::string board_of(std::string_view model) {
  model = model.substr(0, model.find('\0'));
  for (std::size_t start = 0; start < model.size();) {
    const std::size_t end = std::min(model.find(' ', start), model.size());
    const std::string_view word = model.substr(start, end - start);
    const bool is_revision = word.starts_with("rev") || word.starts_with("Rev");
    if (!is_revision && std::ranges::any_of(word, is_letter) && std::ranges::any_of(word, is_digit))
      return cage::attribute_text(word);
    start = end + 1;
  }
  return cage::attribute_text(model);
}

}  // namespace cardcage::fpga
