#include "sim/fpga/tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <fstream>

namespace cardcage::fake_fpga {
namespace {

namespace fs = std::filesystem;

// Returns the keys of a card's numbers, in the order in which the kernel assigns them.
std::vector<std::string> keys_of(const Card& card) {
  std::vector<std::string> keys;
  for (const PciFunction& function : card.functions) keys.push_back("iommu/" + function.address);
  if (card.dfl) {
    keys.insert(keys.end(), {"region/base", "fme", "fpga"});
    for (const Port& port : card.dfl->ports) {
      for (const char* kind : {"bridge", "br", "region", "port", "dfl_dev"})
        keys.push_back(fmt::format("{}/{}", kind, port.id));
    }
    for (const Hwmon& hwmon : card.dfl->hwmon) keys.push_back("hwmon/" + hwmon.name);
    if (card.dfl->bmc) keys.insert(keys.end(), {"dfl_dev/bmc", "hwmon/bmc", "spi"});
    for (const PciFunction& function : card.functions) {
      if (!function.virtual_function && function.address != card.address) keys.push_back("region/" + function.address);
    }
  }
  if (card.xrt) keys.insert(keys.end(), {"render", "hwmon/xmc"});
  if (card.soc) keys.insert(keys.end(), {"fpga", "region/base"});
  return keys;
}

// Returns the first number of a kind, as on machines with other devices.
unsigned first_of(const std::string& kind) {
  if (kind == "iommu") return 17;
  if (kind == "render") return 128;
  return kind == "hwmon" ? 3 : 0;
}

}  // namespace

Entry& Tree::put(const std::string& path, Entry::Kind kind) {
  for (std::size_t end = path.size(); end != std::string::npos && end > 0;) {
    const std::size_t slash = path.rfind('/', end - 1);
    const std::string above = slash == std::string::npos ? "" : path.substr(0, slash);
    const std::size_t name = slash == std::string::npos ? 0 : slash + 1;
    if (!children_[above].insert(path.substr(name, end - name)).second) break;
    if (!above.empty() && !entries_.contains(above)) {
      entries_[above].kind = Entry::Kind::kFolder;
      entries_[above].mode = 0755;
    }
    end = slash;
  }
  Entry& entry = entries_[path];
  entry.kind = kind;
  return entry;
}

Entry& Tree::folder(const std::string& path) {
  Entry& made = put(path, Entry::Kind::kFolder);
  made.mode = 0755;
  return made;
}

Entry& Tree::file(const std::string& path, const std::string& text) {
  Entry& made = put(path, Entry::Kind::kFile);
  made.text = text;
  return made;
}

Entry& Tree::file(const std::string& path, const std::string& text, std::function<int(std::string_view)> write) {
  Entry& made = file(path, text);
  made.mode = 0644;
  made.write = std::move(write);
  return made;
}

Entry& Tree::node(const std::string& path, Card* card, Port* port) {
  Entry& made = put(path, Entry::Kind::kNode);
  made.mode = 0600;
  made.card = card;
  made.port = port;
  return made;
}

void Tree::link(const std::string& path, const std::string& to) {
  Entry& made = put(path, Entry::Kind::kLink);
  made.mode = 0777;
  made.text = fs::path("/" + to).lexically_relative(fs::path("/" + path).parent_path());
}

Entry* Tree::find(const std::string& path) {
  const auto found = entries_.find(path);
  return found == entries_.end() ? nullptr : &found->second;
}

std::vector<std::string> Tree::list(const std::string& folder) const {
  const auto found = children_.find(folder);
  return found == children_.end() ? std::vector<std::string>{}
                                  : std::vector(found->second.begin(), found->second.end());
}

void Machine::number(Card& card) {
  card.numbers.clear();
  for (const std::string& key : keys_of(card)) {
    const std::string kind = key.substr(0, key.find('/'));
    unsigned free = first_of(kind);
    while (taken[kind].contains(free)) ++free;
    taken[kind].insert(free);
    card.numbers[key] = free;
  }
}

void Machine::add(Card card) {
  cards.push_back(std::move(card));
  number(cards.back());
}

void Machine::remove(const std::string& address) {
  cards.remove_if([&](const Card& card) {
    if (card.address != address) return false;
    for (const auto& [key, number] : card.numbers) taken[key.substr(0, key.find('/'))].erase(number);
    return true;
  });
}

void Machine::renumber() {
  cards.reverse();
  taken.clear();
  for (Card& card : cards) number(card);
}

Card* Machine::card(const std::string& address) {
  const auto found = std::ranges::find(cards, address, &Card::address);
  return found == cards.end() ? nullptr : &*found;
}

Card* Machine::card_of_function(const std::string& address) {
  const auto found = std::ranges::find_if(cards, [&](Card& card) { return card.function(address) != nullptr; });
  return found == cards.end() ? nullptr : &*found;
}

Tree lay_out(Machine& machine) {
  Tree tree;
  for (const char* folder : {"sys/bus/pci/devices", "sys/bus/pci/drivers", "sys/bus/platform/devices", "sys/devices",
                             "sys/class", "dev", "proc"})
    tree.folder(folder);
  add_driver_files(tree, machine);
  for (Card& card : machine.cards) {
    add_pci_files(tree, machine, card);
    if (card.dfl) add_dfl_files(tree, machine, card);
    if (card.xrt) add_xrt_files(tree, machine, card);
    if (card.soc) add_soc_files(tree, card);
  }
  tree.file("proc/devices",
            "Character devices:\n  1 mem\n226 drm\n237 dfl-port\n238 dfl-fme\n511 vfio\n\nBlock devices:\n  7 loop\n");
  return tree;
}

void write_tree(const fs::path& folder, std::vector<Card> cards, const std::string& node_number) {
  Machine machine;
  machine.node_number = node_number;
  for (Card& card : cards) machine.add(std::move(card));
  const Tree tree = lay_out(machine);
  // A folder sorts before its entries.
  for (const auto& [path, entry] : tree.entries()) {
    const fs::path place = folder / path;
    if (entry.kind == Entry::Kind::kFolder) {
      fs::create_directories(place);
    } else if (entry.kind == Entry::Kind::kLink) {
      fs::create_symlink(entry.text, place);
    } else if (entry.read_error != ENOENT) {
      std::ofstream(place, std::ios::binary) << (entry.read_error == 0 ? entry.text : "");
    }
  }
}

std::optional<std::uint64_t> kernel_number(std::string_view text) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  const bool hex = text.starts_with("0x") || text.starts_with("0X");
  if (hex) text.remove_prefix(2);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, hex ? 16 : 10);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace cardcage::fake_fpga
