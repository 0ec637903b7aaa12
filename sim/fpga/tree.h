// The files of the cards in /sys, /dev and /proc: a tree that is rebuilt whenever the cards change.
#pragma once

#include <filesystem>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "sim/fpga/cards.h"

namespace cardcage::fake_fpga {

struct Entry {
  enum class Kind { kFolder, kFile, kLink, kNode };
  Kind kind = Kind::kFile;
  unsigned mode = 0444;
  std::string text;    // content of a file, or relative target of a link
  int read_error = 0;  // errno of read(2)
  // Returns an errno. None: a write that has an effect is not modelled, and is accepted.
  std::function<int(std::string_view)> write;
  Card* card = nullptr;         // the card of a node, or of a file that a lock or a program of the card delays
  Port* port = nullptr;         // the port of a port's node
  bool fme_locked = false;      // the kernel takes the FME's lock to read it: it waits while the card is programmed
  std::string function;         // the PCI function that a node of vfio opens
  bool takes_firmware = false;  // a name written here programs the card
};

class Tree {
 public:
  // Creates missing folders above a path. Paths do not begin with a slash.
  Entry& folder(const std::string& path);
  Entry& file(const std::string& path, const std::string& text);
  Entry& file(const std::string& path, const std::string& text, std::function<int(std::string_view)> write);
  Entry& node(const std::string& path, Card* card = nullptr, Port* port = nullptr);
  // `to` is a path in the tree.
  void link(const std::string& path, const std::string& to);

  Entry* find(const std::string& path);
  std::vector<std::string> list(const std::string& folder) const;
  const std::map<std::string, Entry>& entries() const { return entries_; }

 private:
  Entry& put(const std::string& path, Entry::Kind kind);
  std::map<std::string, Entry> entries_;
  std::map<std::string, std::set<std::string>> children_;
};

// The cards of a machine, and further state of the kernel.
struct Machine {
  std::list<Card> cards;
  std::set<std::string> drivers{"dfl-pci", "vfio-pci", "xclmgmt", "xocl"};
  std::string node_number;  // number of all nodes, for tests that open one as a device; empty: the kernel's numbers
  std::map<std::string, std::set<unsigned>> taken;

  void add(Card card);
  void remove(const std::string& address);
  // Assigns numbers as after a reboot in which the drivers find the cards in the opposite order.
  void renumber();
  Card* card(const std::string& address);
  Card* card_of_function(const std::string& address);

 private:
  void number(Card& card);
};

Tree lay_out(Machine& machine);

// Writes the tree as a plain directory, which cannot return an errno: a file that read(2) refuses with ENOENT is
// absent, and one that it refuses otherwise is empty.
void write_tree(const std::filesystem::path& folder, std::vector<Card> cards, const std::string& node_number = "");

// Parses like kstrtou64(): decimal, or 0x and hex digits; one newline may follow.
std::optional<std::uint64_t> kernel_number(std::string_view text);

// Parts of lay_out().
void add_pci_files(Tree& tree, Machine& machine, Card& card);
void add_dfl_files(Tree& tree, Machine& machine, Card& card);
void add_xrt_files(Tree& tree, Machine& machine, Card& card);
void add_soc_files(Tree& tree, Card& card);
void add_driver_files(Tree& tree, Machine& machine);
void add_hwmon(Tree& tree, const std::string& device, unsigned number, Hwmon& hwmon);
void add_manager(Tree& tree, const std::string& device, unsigned number, Manager& manager);
// Returns "sys/devices/pci0000:3a/0000:3a:00.0/0000:3b:00.0".
std::string folder_of(const std::string& address);
// Returns 15104 for "0000:3b:00.0", as in /dev/xclmgmt15104.
unsigned instance_of(const std::string& address);

}  // namespace cardcage::fake_fpga
