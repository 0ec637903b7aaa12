// The devices that the entries make of the node's device nodes.
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "modules/common/node.h"
#include "modules/generic/device_file.h"
#include "modules/generic/settings.h"

namespace cardcage::generic {

struct Found {
  Entry entry;
  std::string id, name;           // the name is empty if it is to come from the id
  std::vector<DeviceFile> files;  // never empty
  Facts facts;                    // facts of the first file
};

struct Inventory {
  std::vector<Found> devices;
  std::map<std::string, std::string> not_offered;  // reasons, by path or by the name of an entry
  std::set<std::filesystem::path> folders;         // where a new file could match

  const Found* find(std::string_view id) const;
};

constexpr std::size_t kMaxFiles = 1000;

// `udev` is "/run/udev". No node is ever opened: that may restart a node (watchdog) or reset a device (serial lines).
Inventory take_inventory(const hardware::Node& node, const std::filesystem::path& udev,
                         const std::vector<Entry>& entries);

}  // namespace cardcage::generic
