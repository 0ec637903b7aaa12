#include "modules/generic/device_file.h"

#include <fnmatch.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "modules/common/kernel_files.h"
#include "modules/generic/settings.h"

namespace cardcage::generic {
namespace {

namespace fs = std::filesystem;
using hardware::names_in;
using hardware::target_name;
using hardware::text_in;

constexpr int kMaxLinks = 8;
constexpr std::size_t kMaxDatabase = 64 * 1024;

// Follows links of the last component. Links of a node start with /dev there, also where this process sees it
// elsewhere.
std::expected<fs::path, std::string> follow(const fs::path& devfs, fs::path file) {
  std::error_code error;
  for (int links = 0; fs::is_symlink(fs::symlink_status(file, error)); ++links) {
    if (links == kMaxLinks) return std::unexpected("it is a link to too many other links");
    const fs::path target = fs::read_symlink(file, error);
    if (error) return std::unexpected("its link cannot be read: " + error.message());
    const std::string text = target.native();
    if (target.is_absolute() && !text.starts_with("/dev/"))
      return std::unexpected("it links to '" + text + "', which is outside of /dev");
    file = target.is_absolute() ? devfs / text.substr(5) : (file.parent_path() / target).lexically_normal();
  }
  return file;
}

void read_usb(const fs::path& folder, Facts& facts) {
  if (facts.usb_interface.empty() && facts.usb_vendor.empty())
    facts.usb_interface = text_in(folder / "bInterfaceNumber");
  if (!facts.usb_vendor.empty()) return;
  facts.usb_vendor = text_in(folder / "idVendor");
  if (facts.usb_vendor.empty()) return;
  facts.usb_product = text_in(folder / "idProduct");
  facts.usb_serial = text_in(folder / "serial");
  facts.usb_port = folder.filename();
  facts.model = text_in(folder / "product");
}

void read_udev(const fs::path& udev, const DeviceFile& file, Facts& facts) {
  const std::string name = file.type + std::to_string(file.major_number) + ":" + std::to_string(file.minor_number);
  std::ifstream lines(udev / "data" / name);
  std::size_t size = 0;
  for (std::string line; std::getline(lines, line) && (size += line.size()) < kMaxDatabase;)
    if (const std::size_t end = line.find('='); line.starts_with("E:") && end != std::string::npos)
      facts.properties[line.substr(2, end - 2)] = line.substr(end + 1);
}

struct Danger {
  unsigned major_number, first, last;
  const char* why;
};
// Documentation/admin-guide/devices.txt of the kernel.
constexpr Danger kDangers[] = {
    {1, 1, 2, "it is the memory of the node"},
    {1, 4, 4, "it is the I/O ports of the node"},
    {1, 11, 11, "it is the kernel's log"},
    {1, 12, 12, "it is the memory of a crashed kernel"},
    {4, 0, 63, "it is a console of the node"},
    {5, 0, 1, "it is a console of the node"},
    {7, 0, 191, "it shows a console of the node"},
    {10, 130, 130, "it restarts the node (watchdog)"},
    {10, 144, 144, "it is the memory of the node's firmware"},
    {10, 203, 203, "it makes device nodes of its own (CUSE)"},
    {10, 223, 223, "it makes up keys and pointers of the node (uinput)"},
    {10, 231, 231, "it suspends the node"},
    {10, 234, 234, "it controls file systems of the node"},
    {10, 236, 236, "it controls disks of the node"},
    {10, 237, 237, "it controls disks of the node"},
    {21, 0, ~0U, "it sends any command to a disk"},
    {90, 0, ~0U, "it is flash memory of the node"},
    {136, 0, ~0U, "it is a terminal of another program"},
    {162, 0, ~0U, "it is a disk"},
    {202, 0, ~0U, "it changes registers of the processors"},
};
constexpr std::pair<std::string_view, const char*> kDangerousSubsystems[] = {
    {"bsg", "it sends any command to a disk"},
    {"ipmi", "it controls the power of the node"},
    {"msr", "it changes registers of the processors"},
    {"mtd", "it is flash memory of the node"},
    {"nvme", "it sends any command to a disk"},
    {"nvme-generic", "it sends any command to a disk"},
    {"raw", "it is a disk"},
    {"scsi_generic", "it sends any command to a disk"},
    {"watchdog", "it restarts the node"},
};

}  // namespace

std::string DeviceFile::numbers() const {
  return type + (" " + std::to_string(major_number)) + ":" + std::to_string(minor_number);
}

std::vector<std::string> PathFinder::find(const std::string& pattern) {
  std::vector<std::string> paths;
  descend({}, fs::path(pattern).lexically_relative("/dev"), paths);
  return paths;
}

void PathFinder::descend(const fs::path& folder, const fs::path& rest, std::vector<std::string>& paths) {
  const fs::path seen = devfs_ / folder;
  std::error_code error;
  // A missing folder is found when it appears in the one above, which is noted.
  if (!fs::is_directory(seen, error)) return;
  folders_.insert(seen);
  const std::string part = *rest.begin();
  const fs::path below = rest.lexically_relative(part);
  const bool is_last = std::next(rest.begin()) == rest.end();
  const auto take = [&](const std::string& name) {
    if (!is_last) return descend(folder / name, below, paths);
    if (has_more_ || !fs::exists(fs::symlink_status(seen / name, error))) return;
    has_more_ = found_ == most_;
    if (has_more_) return;
    ++found_;
    paths.push_back("/dev" / folder / name);
  };
  if (!has_wildcard(part)) return take(part);
  for (const std::string& name : names_in(seen))
    if (::fnmatch(part.c_str(), name.c_str(), FNM_PERIOD) == 0) take(name);
}

std::expected<DeviceFile, std::string> look_up(const fs::path& devfs, const std::string& path) {
  const auto file = follow(devfs, devfs / fs::path(path).lexically_relative("/dev"));
  if (!file) return std::unexpected(file.error());
  std::error_code error;
  const fs::path real = fs::canonical(*file, error), root = error ? fs::path() : fs::canonical(devfs, error);
  if (error) return std::unexpected("it links to a file that does not exist");
  const std::string below = real.lexically_relative(root);
  if (below.empty() || below == "." || below.starts_with(".."))
    return std::unexpected("it links to '" + real.native() + "', which is outside of /dev");
  struct stat status{};
  if (::lstat(real.c_str(), &status) != 0) return std::unexpected("it links to a file that does not exist");
  if (!S_ISCHR(status.st_mode) && !S_ISBLK(status.st_mode)) return std::unexpected("");
  return DeviceFile{.path = path,
                    .target = "/dev/" + below,
                    .type = S_ISCHR(status.st_mode) ? 'c' : 'b',
                    .major_number = major(status.st_rdev),
                    .minor_number = minor(status.st_rdev)};
}

Facts facts_of(const fs::path& sysfs, const fs::path& udev, const DeviceFile& file) {
  Facts facts;
  read_udev(udev, file, facts);
  std::error_code error;
  const std::string name = std::to_string(file.major_number) + ":" + std::to_string(file.minor_number);
  const fs::path root = fs::canonical(sysfs, error);
  fs::path folder = fs::canonical(sysfs / "dev" / (file.type == 'c' ? "char" : "block") / name, error);
  if (error) return facts;
  facts.subsystem = target_name(folder / "subsystem");
  for (; folder != root && folder.has_relative_path(); folder = folder.parent_path()) {
    if (facts.driver.empty()) facts.driver = target_name(folder / "driver");
    read_usb(folder, facts);
    const std::string node = facts.numa_node ? std::string() : text_in(folder / "numa_node");
    // Firmware that does not know it says -1.
    if (!node.empty() && node.front() != '-') facts.numa_node = std::atoi(node.c_str());
  }
  return facts;
}

std::string danger_of(const DeviceFile& file, const std::string& subsystem) {
  if (file.type != 'c') return {};
  for (const Danger& one : kDangers)
    if (one.major_number == file.major_number && file.minor_number >= one.first && file.minor_number <= one.last)
      return one.why;
  const auto known =
      std::ranges::find(kDangerousSubsystems, subsystem, &std::pair<std::string_view, const char*>::first);
  return known == std::end(kDangerousSubsystems) ? std::string() : known->second;
}

}  // namespace cardcage::generic
