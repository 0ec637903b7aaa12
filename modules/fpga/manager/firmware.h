// Files that the kernel loads by name: it looks for the name in a few folders of the node's own file system.
//
// Source: Documentation/driver-api/firmware/fw_search_path.rst of the kernel.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace cardcage::fpga {

// Returns the folders that the kernel searches, in its order.
std::vector<std::filesystem::path> firmware_folders(const std::filesystem::path& sysfs);

// Returns the name by which the kernel finds this file. Throws FAILED_PRECONDITION if the file is in none of the
// folders, or if the kernel would find another file by that name.
std::string firmware_name(const std::filesystem::path& file, const std::vector<std::filesystem::path>& folders);

}  // namespace cardcage::fpga
