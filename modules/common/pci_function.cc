#include "modules/common/pci_function.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <span>

#include "modules/common/kernel_files.h"
#include "modules/common/text.h"

namespace cardcage::hardware {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kBridge = "0x06";
constexpr ssize_t kIds = 4;  // bytes of the configuration space

// Parses "16.0 GT/s PCIe" or "Unknown".
std::optional<double> speed_in(const fs::path& file) {
  const std::string text = text_in(file);
  const char* const last = text.data() + text.size();
  double speed = 0;
  const auto [end, error] = std::from_chars(text.data(), last, speed, std::chars_format::fixed);
  const bool is_speed = error == std::errc() && speed > 0 && std::string_view(end, last).starts_with(" GT/s");
  return is_speed ? std::optional(speed) : std::nullopt;
}

// 0 means that the link is down, 255 that its registers cannot be read.
std::optional<unsigned> width_in(const fs::path& file) {
  constexpr std::uint64_t kUnreadable = 255;
  const auto width = number_in(file).value_or(0);
  return width > 0 && width < kUnreadable ? std::optional(static_cast<unsigned>(width)) : std::nullopt;
}

// Parses lines of names and counts, with the sum in the last one: "TOTAL_ERR_COR 3".
std::optional<std::uint64_t> total_in(const fs::path& file, const std::string& name) {
  const std::string text = "\n" + text_in(file);
  const std::string start = "\n" + name + " ";
  const auto found = text.find(start);
  if (found == std::string::npos) return std::nullopt;
  const std::string_view line = std::string_view(text).substr(found + start.size());
  return number_of<std::uint64_t>(line.substr(0, line.find('\n')));
}

std::optional<std::uint64_t> increase(std::optional<std::uint64_t> before, std::optional<std::uint64_t> now) {
  if (!before || !now) return std::nullopt;
  return *now >= *before ? *now - *before : *now;
}

}  // namespace

std::vector<std::string> functions_of(const fs::path& sysfs) { return names_in(sysfs / "bus/pci/devices"); }

std::string_view slot_of(std::string_view bus_id) { return bus_id.substr(0, bus_id.find('.')); }

fs::path path_of(const fs::path& sysfs, const std::string& bus_id) { return sysfs / "bus/pci/devices" / bus_id; }

bool is_present(const fs::path& sysfs, const std::string& bus_id) {
  std::error_code error;
  return fs::exists(path_of(sysfs, bus_id), error);
}

PciIds ids_of(const fs::path& sysfs, const std::string& bus_id) {
  const fs::path function = path_of(sysfs, bus_id);
  return {.vendor = text_in(function / "vendor"),
          .device = text_in(function / "device"),
          .class_code = text_in(function / "class"),
          .subsystem_vendor = text_in(function / "subsystem_vendor"),
          .subsystem_device = text_in(function / "subsystem_device")};
}

std::string driver_of(const fs::path& sysfs, const std::string& bus_id) {
  return target_name(path_of(sysfs, bus_id) / "driver");
}

std::string iommu_group_of(const fs::path& sysfs, const std::string& bus_id) {
  return target_name(path_of(sysfs, bus_id) / "iommu_group");
}

bool is_without_iommu(const fs::path& sysfs, const std::string& bus_id) {
  return text_in(path_of(sysfs, bus_id) / "iommu_group/name") == "vfio-noiommu";
}

std::vector<std::string> iommu_neighbours_of(const fs::path& sysfs, const std::string& bus_id) {
  std::vector<std::string> others = names_in(path_of(sysfs, bus_id) / "iommu_group/devices");
  std::erase_if(others, [&](const std::string& other) {
    return other == bus_id || text_in(path_of(sysfs, other) / "class").starts_with(kBridge);
  });
  return others;
}

std::string vfio_device_of(const fs::path& sysfs, const std::string& bus_id) {
  const auto names = names_in(path_of(sysfs, bus_id) / "vfio-dev");
  return names.empty() ? std::string() : names.front();
}

std::uint64_t virtual_functions_in_use(const fs::path& sysfs, const std::string& bus_id) {
  return number_in(path_of(sysfs, bus_id) / "sriov_numvfs").value_or(0);
}

std::vector<std::string> virtual_functions_of(const fs::path& sysfs, const std::string& bus_id) {
  constexpr std::string_view kLink = "virtfn";
  const fs::path function = path_of(sysfs, bus_id);
  std::map<std::uint64_t, std::string> by_number;
  for (const std::string& name : names_in(function)) {
    if (!name.starts_with(kLink)) continue;
    const auto number = number_of<std::uint64_t>(std::string_view(name).substr(kLink.size()));
    if (!number) continue;
    if (std::string target = target_name(function / name); !target.empty()) by_number[*number] = std::move(target);
  }
  std::vector<std::string> all;
  for (auto& [number, target] : by_number) all.push_back(std::move(target));
  return all;
}

std::string physical_function_of(const fs::path& sysfs, const std::string& bus_id) {
  return target_name(path_of(sysfs, bus_id) / "physfn");
}

// The ids of a virtual function always read as ones (SR-IOV 1.1, 3.4.1.1), but its other registers do not.
bool is_lost(const fs::path& sysfs, const std::string& bus_id) {
  const int descriptor = ::open((path_of(sysfs, bus_id) / "config").c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return false;
  std::array<unsigned char, 16> header{};
  const ssize_t count = ::read(descriptor, header.data(), header.size());
  ::close(descriptor);
  const auto read = std::span(header).first(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  return count >= kIds && std::ranges::all_of(read, [](auto byte) { return byte == 0xff; });
}

PciLink link_of(const fs::path& sysfs, const std::string& bus_id) {
  const fs::path function = path_of(sysfs, bus_id);
  return {.speed = speed_in(function / "current_link_speed"),
          .max_speed = speed_in(function / "max_link_speed"),
          .width = width_in(function / "current_link_width"),
          .max_width = width_in(function / "max_link_width")};
}

PciErrors errors_of(const fs::path& sysfs, const std::string& bus_id) {
  const fs::path function = path_of(sysfs, bus_id);
  return {.correctable = total_in(function / "aer_dev_correctable", "TOTAL_ERR_COR"),
          .nonfatal = total_in(function / "aer_dev_nonfatal", "TOTAL_ERR_NONFATAL"),
          .fatal = total_in(function / "aer_dev_fatal", "TOTAL_ERR_FATAL")};
}

PciErrors new_errors(const PciErrors& before, const PciErrors& now) {
  return {.correctable = increase(before.correctable, now.correctable),
          .nonfatal = increase(before.nonfatal, now.nonfatal),
          .fatal = increase(before.fatal, now.fatal)};
}

}  // namespace cardcage::hardware
