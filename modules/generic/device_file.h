// Device nodes below /dev: patterns of paths, what a path leads to, and what the kernel and udev know of it.
//
// Source: glob(7); Documentation/ABI/stable/sysfs-devices and testing/sysfs-bus-usb of the kernel; the files of the
// database in /run/udev/data, which sd_device_get_property_value(3) reads.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <expected>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "modules/common/node.h"

namespace cardcage::generic {

struct DeviceFile {
  std::string path;    // as the pattern matched it, "/dev/serial/by-id/usb-FTDI_..."
  std::string target;  // the node itself, "/dev/ttyUSB0"
  char type = 'c';     // or 'b'
  unsigned major_number = 0, minor_number = 0;

  std::string numbers() const;  // "c 188:0"
  friend bool operator==(const DeviceFile&, const DeviceFile&) = default;
};

// Finds paths by patterns, and notes the folders in which a new file could match.
class PathFinder {
 public:
  PathFinder(std::filesystem::path devfs, std::size_t most) : devfs_(std::move(devfs)), most_(most) {}

  // Returns "/dev/...", sorted in each folder; at most `most` of all patterns together.
  std::vector<std::string> find(const std::string& pattern);
  bool has_more() const { return has_more_; }
  const std::set<std::filesystem::path>& folders() const { return folders_; }

 private:
  // Both are relative: the folder to /dev, the rest of the pattern to the folder.
  void descend(const std::filesystem::path& folder, const std::filesystem::path& rest, std::vector<std::string>& paths);

  const std::filesystem::path devfs_;
  const std::size_t most_;
  std::size_t found_ = 0;
  bool has_more_ = false;
  std::set<std::filesystem::path> folders_;
};

// Follows links. The error says why the path is refused; it is empty for a file that is not a device node.
std::expected<DeviceFile, std::string> look_up(const std::filesystem::path& devfs, const std::string& path);

// Empty where the kernel or udev knows nothing.
struct Facts {
  std::string subsystem, driver;
  std::string usb_vendor, usb_product, usb_serial, usb_port, usb_interface, model;
  std::optional<std::int32_t> numa_node;
  std::map<std::string, std::string> properties;  // udev properties
};
Facts facts_of(const std::filesystem::path& sysfs, const std::filesystem::path& udev, const DeviceFile& file);

// Explains why a container with the node would control the whole node, or what belongs to others; empty if it does not.
std::string danger_of(const DeviceFile& file, const std::string& subsystem);

}  // namespace cardcage::generic
