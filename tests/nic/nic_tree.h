// Makes a sysfs with network cards, in the formats of an emulated igb under Linux 6.12.
#pragma once

#include <string>
#include <vector>

#include "tests/common/kernel_tree.h"

namespace cardcage {

// The test machine has no interface with such an index, so its default routes do not count.
inline constexpr unsigned kFirstIndex = 900'000;

class NicTree : public hardware::KernelTree {
 public:
  NicTree() { std::filesystem::create_directories(sysfs() / "class/net"); }

  // Adds a function of an Intel 82576, in a PCI tree of its own.
  void card(const std::string& bus_id, const std::string& driver = "igb",
            const std::string& class_code = "0x020000") const {
    attribute(bus_id, "vendor", "0x8086\n");
    attribute(bus_id, "device", driver == "igbvf" ? "0x10ca\n" : "0x10c9\n");
    attribute(bus_id, "class", class_code + "\n");
    if (!driver.empty()) this->driver(bus_id, driver);
  }
  void netdev(const std::string& name, const std::string& bus_id = {}, const std::string& port = "0") {
    const std::filesystem::path folder = std::filesystem::path("sys/class/net") / name;
    const std::vector<std::pair<const char*, std::string>> attributes{{"ifindex", std::to_string(next_index_++)},
                                                                      {"type", "1"},
                                                                      {"dev_port", port},
                                                                      {"address", "52:54:00:12:34:56"},
                                                                      {"operstate", "up"},
                                                                      {"mtu", "1500"},
                                                                      {"speed", "1000"},
                                                                      {"ifalias", ""}};
    for (const auto& [attribute, value] : attributes) file(folder / attribute, value + "\n");
    if (bus_id.empty()) return;
    std::filesystem::create_directories(root() / function(bus_id) / "net" / name);
    link(folder / "device", root() / function(bus_id));
  }
  void netdev_attribute(const std::string& name, const std::string& attribute, const std::string& value) const {
    file(std::filesystem::path("sys/class/net") / name / attribute, value + "\n");
  }
  // Hides the interface as in another namespace: its folder at the function stays, and is empty.
  void move_away(const std::string& name, const std::string& bus_id) const {
    std::filesystem::remove_all(sysfs() / "class/net" / name);
    std::filesystem::remove_all(root() / function(bus_id) / "net" / name);
  }

 private:
  unsigned next_index_ = kFirstIndex;
};

}  // namespace cardcage
