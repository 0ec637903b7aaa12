// A PCI function, as the kernel shows it with any driver. A function has a bus id, "0000:3b:00.0".
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

// Returns the bus ids of all functions, sorted.
std::vector<std::string> functions_of(const std::filesystem::path& sysfs);
// Returns "0000:3b:00" of "0000:3b:00.0": the functions of a card differ only after it.
std::string_view slot_of(std::string_view bus_id);
// Returns the folder of the function.
std::filesystem::path path_of(const std::filesystem::path& sysfs, const std::string& bus_id);

bool is_present(const std::filesystem::path& sysfs, const std::string& bus_id);

// Ids in the kernel's form: "0x10de", a class "0x030200". Empty if the kernel has none.
struct PciIds {
  std::string vendor, device, class_code, subsystem_vendor, subsystem_device;
};
PciIds ids_of(const std::filesystem::path& sysfs, const std::string& bus_id);

// Returns the driver of a function; empty if it has none.
std::string driver_of(const std::filesystem::path& sysfs, const std::string& bus_id);
// Returns the number of its IOMMU group; empty without a group.
std::string iommu_group_of(const std::filesystem::path& sysfs, const std::string& bus_id);
// Returns whether its group stands for no IOMMU: vfio makes such a group of its own (enable_unsafe_noiommu_mode), and a
// program can reach all of the node's memory through the function.
bool is_without_iommu(const std::filesystem::path& sysfs, const std::string& bus_id);
// Returns the other functions in its IOMMU group except bridges, which need no driver. Sorted.
std::vector<std::string> iommu_neighbours_of(const std::filesystem::path& sysfs, const std::string& bus_id);
// Returns "vfio3" for /dev/vfio/devices/vfio3; empty unless a VFIO driver offers it to iommufd.
std::string vfio_device_of(const std::filesystem::path& sysfs, const std::string& bus_id);

// Returns the number of its virtual functions.
std::uint64_t virtual_functions_in_use(const std::filesystem::path& sysfs, const std::string& bus_id);
// Returns their bus ids, by number.
std::vector<std::string> virtual_functions_of(const std::filesystem::path& sysfs, const std::string& bus_id);
// Returns an empty text unless it is a virtual function.
std::string physical_function_of(const std::filesystem::path& sysfs, const std::string& bus_id);

// Returns whether the first four bytes of its configuration space, vendor and device, read as ones: it has left the
// bus, and the kernel has not noticed. Reading more has effects on some hardware. Virtual functions always read as ones
// there.
bool is_lost(const std::filesystem::path& sysfs, const std::string& bus_id);

// Values are unset if the kernel does not know them, such as while the link is down.
struct PciLink {
  std::optional<double> speed, max_speed;    // GT/s per lane
  std::optional<unsigned> width, max_width;  // lanes
};
PciLink link_of(const std::filesystem::path& sysfs, const std::string& bus_id);

// Errors since the function was found; unset without Advanced Error Reporting.
struct PciErrors {
  std::optional<std::uint64_t> correctable, nonfatal, fatal;
};
PciErrors errors_of(const std::filesystem::path& sysfs, const std::string& bus_id);
// Returns the errors between two readings; unset if one of the readings has none. A counter that has fallen belongs to
// a new instance of its device.
PciErrors new_errors(const PciErrors& before, const PciErrors& now);

}  // namespace cardcage::hardware
