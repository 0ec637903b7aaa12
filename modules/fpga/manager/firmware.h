// The files that the kernel loads by name: it looks for the name in a few folders, as the node itself sees them.
//
// Source: Documentation/driver-api/firmware/fw_search_path.rst of the kernel.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace cardcage::fpga {

// The folders in which the kernel looks, in its order.
std::vector<std::filesystem::path> firmware_folders(const std::filesystem::path& sysfs);

// The name by which the kernel finds this file. Throws cage::Error, FAILED_PRECONDITION, if it is in none of the
// folders, or if the kernel would find another file by that name.
std::string firmware_name(const std::filesystem::path& file, const std::vector<std::filesystem::path>& folders);

}  // namespace cardcage::fpga
