// Lists how Linux 6.12 responds to calls on a card with four ports. tests/qemu makes the calls on the kernel's own
// drivers, and the test of this folder makes them on served cards.
//
// Each entry starts on a card that was just plugged in.
#pragma once

#include <filesystem>
#include <ostream>
#include <string>
#include <vector>

#include "tests/sim/fpga/system_calls.h"

namespace cardcage::kernel_rules {

// Finds the files of the card in sysfs, and makes the card fail or wait.
class Card {
 public:
  Card(fs::path sysfs, fs::path devfs, std::string address);
  virtual ~Card() = default;
  // Makes the next programming end with a CRC error.
  virtual void fail_next() = 0;
  // Keeps programming from ending while it is held.
  virtual void hold(bool held) = 0;
  virtual void set_port_errors(unsigned port, std::uint64_t errors) = 0;

  fs::path function() const;  // these return folders in sysfs
  fs::path engine() const;
  fs::path port(unsigned number) const;
  fs::path engine_node() const;
  fs::path port_node(unsigned number) const;
  // Unbinds dfl-pci and binds it again; returns an errno.
  int rebind() const;
  // "engine/errors/fme_errors", "port/0/afu_id", "function/sriov_numvfs", "manager/state", "bridge/name",
  // "region/compat_id" of a port, "base/compat_id", "hwmon/dfl_fme_power/power1_input".
  fs::path attribute(const std::string& path) const;

 private:
  fs::path below_region(const std::string& prefix) const;

  const fs::path sysfs_, devfs_;
  const std::string address_;
};

// A call, perhaps after others, and its errno.
struct Call {
  const char* name;
  int (*make)(Card& card);
  int error;
  friend void PrintTo(const Call& call, std::ostream* out) { *out << call.name; }
};
std::vector<Call> calls();
std::vector<Call> calls_of_ports();  // the entries of calls() for ports

// The text of an attribute, perhaps after some calls, or the errno of reading it.
struct Attribute {
  const char* name;
  const char* path;
  const char* text;
  int error = 0;
  void (*before)(Card& card) = nullptr;
  friend void PrintTo(const Attribute& attribute, std::ostream* out) { *out << attribute.name; }
};
std::vector<Attribute> attributes();

// Whether reading an attribute waits while port 0 of the card is programmed, and the errno in the end.
struct Wait {
  const char* name;
  const char* path;
  bool waits;
  int error = 0;
  friend void PrintTo(const Wait& wait, std::ostream* out) { *out << wait.name; }
};
std::vector<Wait> waits();
// Checks the card against the entry.
void expect_wait(Card& card, const Wait& wait);

}  // namespace cardcage::kernel_rules
