// The entries of the option `devices`: which device nodes are devices, and what containers get.
#pragma once

#include <cardcage/sdk.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cardcage::generic {

using Pairs = std::vector<std::pair<std::string, std::string>>;

struct Entry {
  std::string name;                // a DNS label; also the kind of its devices
  std::vector<std::string> paths;  // patterns of paths below /dev
  bool together = false;           // all its nodes are one device
  std::int64_t count = 1;          // the number of claims that may hold a device at once
  // For containers. A mount path that ends in '/' is a folder; empty = as on the node.
  std::string permissions = "rw", mount_path = {};
  std::uint32_t mode = 0;  // 0 = as on the node
  Pairs env = {};
  // Selectors, as patterns of fnmatch(3); empty = any.
  std::string subsystem = {}, usb_vendor = {}, usb_product = {}, serial = {};
  Pairs properties = {};  // udev properties
  bool block = false;     // takes block devices
  bool unsafe = false;    // takes nodes that give control of the whole node

  friend bool operator==(const Entry&, const Entry&) = default;
};

constexpr std::int64_t kMaxEntries = 64, kMaxCount = 1000;

bool has_wildcard(std::string_view pattern);

// Reads the tables as the host passes them, lines "NAME=VALUE\n". Throws cage::Error.
std::vector<Entry> read_entries(const std::vector<std::string_view>& tables);

}  // namespace cardcage::generic
