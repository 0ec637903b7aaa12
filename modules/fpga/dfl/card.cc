#include "modules/fpga/dfl/card.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <utility>

#include "modules/common/kernel_files.h"
#include "modules/common/pci_function.h"
#include "modules/fpga/bitstream/uuid.h"

namespace cardcage::fpga {
namespace {

namespace fs = std::filesystem;
using hardware::names_in;
using hardware::number_in;
using hardware::read_attribute;
using hardware::text_in;

struct Model {
  std::string_view vendor, device, subsystem;  // subsystem: empty = any
  std::string_view name;
  bool is_ofs = false;  // its ports have no function
};
// Source: drivers/fpga/dfl-pci.c; the ids of subsystems are those of OPAE's table.
constexpr std::array kModels{
    Model{"0x8086", "0xbcbd", "", "Integrated Arria 10"},
    Model{"0x8086", "0xbcbf", "", "Integrated Arria 10"},
    Model{"0x8086", "0xbcc0", "", "Integrated Arria 10"},
    Model{"0x8086", "0xbcc1", "", "Integrated Arria 10"},
    Model{"0x8086", "0x09c4", "", "PAC-A10"},
    Model{"0x8086", "0x09c5", "", "PAC-A10"},
    Model{"0x8086", "0x0b30", "", "N3000"},
    Model{"0x8086", "0x0b31", "", "N3000"},
    Model{"0x8086", "0x0b2b", "", "D5005"},
    Model{"0x8086", "0x0b2c", "", "D5005"},
    Model{"0x1c2c", "0x1000", "", "N5010"},
    Model{"0x1c2c", "0x1001", "", "N5011"},
    Model{"0x8086", "0xbcce", "0x138d", "D5005", true},
    Model{"0x8086", "0xbccf", "0x138d", "D5005", true},
    Model{"0x8086", "0xbcce", "0x1770", "N6000", true},
    Model{"0x8086", "0xbccf", "0x1770", "N6000", true},
    Model{"0x8086", "0xbcce", "0x1771", "N6001", true},
    Model{"0x8086", "0xbccf", "0x1771", "N6001", true},
    Model{"0x8086", "0xbcce", "0x17d4", "C6100", true},
    Model{"0x8086", "0xbccf", "0x17d4", "C6100", true},
    Model{"0x8086", "0xbcce", "", "OFS", true},
    Model{"0x8086", "0xbccf", "", "OFS", true},
    Model{"0x8086", "0xaf00", "", "OFS", true},
    Model{"0x8086", "0xaf01", "", "OFS", true},
    Model{"0x8086", "0x0ddb", "", "CMC", true},
};

// Returns null for cards that are not in the table.
const Model* find_model(const hardware::Node& node, const std::string& bus_id) {
  const fs::path function = hardware::path_of(node.sysfs, bus_id);
  const std::string vendor = text_in(function / "vendor"), device = text_in(function / "device"),
                    subsystem = text_in(function / "subsystem_device");
  const auto found = std::ranges::find_if(kModels, [&](const Model& model) {
    return model.vendor == vendor && model.device == device &&
           (model.subsystem.empty() || model.subsystem == subsystem);
  });
  return found == kModels.end() ? nullptr : &*found;
}

// Returns whether VFIO serves a virtual function of the card. On a card whose ports have functions, such a virtual
// function is a port that was lent, or that an administrator has released.
bool serves_vfio(const hardware::Node& node, const DflCard& card) {
  const Model* const model = find_model(node, card.bus_id);
  if (model != nullptr && !model->is_ofs) return false;
  return std::ranges::any_of(card.virtual_functions, [&](const std::string& function) {
    return hardware::driver_of(node.sysfs, function) != kDflDriver;
  });
}

// Returns the folders in the card's regions: of its ports, of its engine, and others.
std::vector<fs::path> folders_of(const hardware::Node& node, const std::string& bus_id) {
  const fs::path regions = hardware::path_of(node.sysfs, bus_id) / "fpga_region";
  std::vector<fs::path> folders;
  for (const std::string& region : names_in(regions))
    for (const std::string& name : names_in(regions / region)) folders.push_back(regions / region / name);
  return folders;
}

bool is_port(const fs::path& folder) { return folder.filename().native().starts_with("dfl-port."); }

// Returns nothing for a port whose number cannot be read: another port would be programmed.
std::optional<DflPort> find_port(const fs::path& folder) {
  const auto number = number_in(folder / "id");
  if (!number || !std::in_range<unsigned>(*number)) return std::nullopt;
  DflPort port;
  port.number = static_cast<unsigned>(*number);
  port.node = folder.filename();
  port.folder = folder;
  port.has_function = fs::exists(folder / "afu_id");
  return port;
}

// Source: drivers/fpga/dfl-fme-pr.c: one region for each port, all with the id of the manager.
void read_interface(DflEngine& engine) {
  engine.interface_fault = "it has no region that can be programmed";
  for (const std::string& name : names_in(engine.folder)) {
    if (!name.starts_with("dfl-fme-region.")) continue;
    const fs::path regions = engine.folder / name / "fpga_region";
    for (const std::string& region : names_in(regions)) {
      const hardware::Reading id = read_attribute(regions / region / "compat_id");
      engine.interface_id = normal_uuid(id.text);
      if (!engine.interface_id.empty()) {
        engine.interface_fault.clear();
        return;
      }
      engine.interface_fault =
          "the compat_id of its region " + (id.error != 0 ? std::string("cannot be read: ") + std::strerror(id.error)
                                                          : "is '" + id.text + "', which is not a UUID");
    }
  }
}

DflEngine find_engine(const fs::path& folder) {
  DflEngine engine;
  engine.node = folder.filename();
  engine.folder = folder;
  if (const fs::path manager = hardware::entry_in(folder, "dfl-fme-mgr."); !manager.empty())
    engine.manager = hardware::entry_in(manager / "fpga_manager", "");
  read_interface(engine);
  return engine;
}

}  // namespace

std::string model_of(const hardware::Node& node, const std::string& bus_id) {
  const Model* const model = find_model(node, bus_id);
  return model == nullptr ? std::string() : std::string(model->name);
}

std::optional<DflCard> read_dfl_card(const hardware::Node& node, const std::string& bus_id) {
  DflCard card;
  card.bus_id = bus_id;
  for (const fs::path& folder : folders_of(node, bus_id)) {
    if (is_port(folder))
      if (auto port = find_port(folder)) card.ports.push_back(std::move(*port));
    if (folder.filename().native().starts_with("dfl-fme.")) card.engine = find_engine(folder);
  }
  if (card.ports.empty() && !card.engine) return std::nullopt;
  std::ranges::sort(card.ports, {}, &DflPort::number);
  card.model = model_of(node, bus_id);
  card.virtual_functions = hardware::virtual_functions_of(node.sysfs, bus_id);
  card.serves_vfio = serves_vfio(node, card);
  card.physical = hardware::physical_function_of(node.sysfs, bus_id);
  card.shell = card.engine;
  if (!card.engine && !card.physical.empty())
    if (const auto whole = read_dfl_card(node, card.physical)) card.shell = whole->engine;
  return card;
}

std::vector<std::string> unnumbered_ports(const hardware::Node& node, const std::string& bus_id) {
  std::vector<std::string> ports;
  for (const fs::path& folder : folders_of(node, bus_id))
    if (is_port(folder) && !find_port(folder)) ports.push_back(folder.filename());
  return ports;
}

std::vector<DflCard> read_dfl_cards(const hardware::Node& node) {
  std::vector<DflCard> cards;
  for (const std::string& bus_id : hardware::functions_of(node.sysfs))
    if (auto card = read_dfl_card(node, bus_id)) cards.push_back(std::move(*card));
  return cards;
}

std::optional<std::string> root_entry_hash(const hardware::Node& node, const std::string& bus_id) {
  const fs::path devices = node.sysfs / "bus/platform/drivers/intel-m10bmc-sec-update";
  std::error_code error;
  const std::string card = fs::canonical(hardware::path_of(node.sysfs, bus_id), error).native() + "/";
  if (error) return std::nullopt;
  for (const std::string& name : names_in(devices)) {
    const fs::path device = fs::canonical(devices / name, error);
    if (error || !device.native().starts_with(card)) continue;
    const hardware::Reading hash = read_attribute(device / "security/pr_root_entry_hash");
    if (hash.error != 0) continue;
    return hash.text == "hash not programmed" ? std::string() : hash.text;
  }
  return std::nullopt;
}

std::string numbers_of(const fs::path& folder) { return text_in(folder / "dev"); }

std::optional<Shell> read_shell(const DflEngine& engine) {
  const auto id = number_in(engine.folder / "bitstream_id");
  if (!id) return std::nullopt;
  const auto four_bits = [&](unsigned lowest) { return std::to_string((*id >> lowest) & 0xf); };
  return Shell{.id = text_in(engine.folder / "bitstream_id"),
               .version = four_bits(56) + "." + four_bits(52) + "." + four_bits(48)};
}

}  // namespace cardcage::fpga
