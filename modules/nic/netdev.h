// A network interface as the kernel describes it.
//
// sysfs shows the interfaces of one network namespace, that of the process that mounted it, and not those of pods.
//
// Source: Documentation/ABI/testing/sysfs-class-net of the kernel.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace cardcage::nic {

struct Netdev {
  std::string name;                    // "eth0"
  std::uint64_t index = 0;             // index of the interface in its namespace
  std::uint64_t type = 0;              // ARPHRD_*
  std::uint64_t port = 0;              // port of the PCI function: 1 for the second interface of a card that has two
  std::string mac;                     // the current MAC address; empty for an interface without one
  std::string alias;                   // ip link set alias
  std::string state;                   // "up", "down", "lowerlayerdown", "dormant", "unknown" (RFC 2863)
  std::string port_name;               // "p0" is a port of the card, "pf0vf3" and "pf0hpf" represent a function
  std::string switch_id;               // id of the switch that it is a port of; empty for most
  std::string pkey;                    // "0x8001": partition of an InfiniBand interface; empty for others
  bool is_up = false;                  // turned on: ip link set up
  std::optional<bool> carrier;         // nothing unless it is up
  std::optional<std::uint64_t> mtu;    // bytes
  std::uint64_t queue_length = 0;      // packets in the transmit queue
  std::optional<std::uint64_t> speed;  // Mbit/s; nothing while the link is down, and for most virtual interfaces
};

// Returns all interfaces of the namespace, sorted.
std::vector<std::string> interfaces_of(const std::filesystem::path& sysfs);
// Returns nothing if the interface is gone.
std::optional<Netdev> read_netdev(const std::filesystem::path& sysfs, const std::string& name);
// Returns the interfaces of a device, such as a PCI function, and of a virtio device below it. Nothing if no driver
// made any; an empty list if all of them are in other namespaces now. `entries` has the names in the folder of the
// device.
std::optional<std::vector<std::string>> interfaces_at(const std::filesystem::path& device,
                                                      const std::vector<std::string>& entries);
std::optional<std::vector<std::string>> interfaces_at(const std::filesystem::path& device);
// Reads those of the interfaces that are on the node and do not represent another function.
std::vector<Netdev> read_netdevs(const std::filesystem::path& sysfs, const std::vector<std::string>& names);
// Does the same for the interfaces of a device.
std::vector<Netdev> netdevs_at(const std::filesystem::path& sysfs, const std::filesystem::path& device);
// Returns whether the interface belongs to a device of the machine, such as a PCI function.
bool has_hardware(const std::filesystem::path& sysfs, const std::string& name);

// Returns whether the interface is a representor: it stands for a function that a pod, a virtual machine or the host of
// a DPU has, and steers its traffic.
bool is_representor(const Netdev& netdev);
// Returns "ether", "infiniband", or the number of the type.
std::string encapsulation_of(const Netdev& netdev);

}  // namespace cardcage::nic
