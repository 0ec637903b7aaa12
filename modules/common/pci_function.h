// A PCI function: what the kernel tells of it, whatever driver it has. A function has a bus id, "0000:3b:00.0".
//
// Source: Documentation/ABI/testing/sysfs-bus-pci, sysfs-bus-pci-devices-aer_stats, sysfs-kernel-iommu_groups and
// sysfs-devices-vfio-dev of the kernel.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cardcage::hardware {

// The bus ids of all functions, sorted.
std::vector<std::string> functions_of(const std::filesystem::path& sysfs);
// "0000:3b:00" of "0000:3b:00.0": the functions of a card differ in what follows.
std::string_view slot_of(std::string_view bus_id);
// The folder of the function.
std::filesystem::path path_of(const std::filesystem::path& sysfs, const std::string& bus_id);

bool is_present(const std::filesystem::path& sysfs, const std::string& bus_id);

// As the kernel writes them: "0x10de", a class "0x030200". Empty where the kernel has none.
struct PciIds {
  std::string vendor, device, class_code, subsystem_vendor, subsystem_device;
};
PciIds ids_of(const std::filesystem::path& sysfs, const std::string& bus_id);

// The driver of a function; empty if it has none.
std::string driver_of(const std::filesystem::path& sysfs, const std::string& bus_id);
// The number of its IOMMU group; empty if it is in none.
std::string iommu_group_of(const std::filesystem::path& sysfs, const std::string& bus_id);
// The other functions in its IOMMU group, but for bridges, which need no driver. Sorted.
std::vector<std::string> iommu_neighbours_of(const std::filesystem::path& sysfs, const std::string& bus_id);
// "vfio3" of /dev/vfio/devices/vfio3; empty unless a VFIO driver offers it to iommufd.
std::string vfio_device_of(const std::filesystem::path& sysfs, const std::string& bus_id);

// How many virtual functions of it exist.
std::uint64_t virtual_functions_in_use(const std::filesystem::path& sysfs, const std::string& bus_id);
// Their bus ids, by number.
std::vector<std::string> virtual_functions_of(const std::filesystem::path& sysfs, const std::string& bus_id);
// Empty unless it is a virtual function.
std::string physical_function_of(const std::filesystem::path& sysfs, const std::string& bus_id);

// Whether the first four bytes of its configuration space, vendor and device, read as ones: it has left the bus, and
// the kernel has not noticed. Reading more has effects on some hardware. Those of virtual functions always read so.
bool is_lost(const std::filesystem::path& sysfs, const std::string& bus_id);

// Nothing where the kernel does not know, such as while the link is down.
struct PciLink {
  std::optional<double> speed, max_speed;    // GT/s of a lane
  std::optional<unsigned> width, max_width;  // lanes
};
PciLink link_of(const std::filesystem::path& sysfs, const std::string& bus_id);

// Errors since the function was found. Nothing without Advanced Error Reporting.
struct PciErrors {
  std::optional<std::uint64_t> correctable, nonfatal, fatal;
};
PciErrors errors_of(const std::filesystem::path& sysfs, const std::string& bus_id);
// Those that came between two looks; nothing where either look found none. A counter that has fallen was made anew with
// its device.
PciErrors new_errors(const PciErrors& before, const PciErrors& now);

}  // namespace cardcage::hardware
