// The folders below the driver's root that may hold libraries of the driver: names inside of the root, of folders that
// need not exist, the one that programs search first at the front. Two names may be one folder.
#pragma once

#include <filesystem>
#include <vector>

namespace cardcage::nvidia {

// Where most distributions and NVIDIA's installer put libraries.
const std::vector<std::filesystem::path>& usual_library_folders();
// Folders of one driver each, such as Debian's nvidia/current.
std::vector<std::filesystem::path> packaged_library_folders(const std::filesystem::path& driver_root);
// Folders of the driver's libraries that etc/ld.so.cache of the root names. Empty if it cannot be read.
std::vector<std::filesystem::path> cached_library_folders(const std::filesystem::path& driver_root);

// All of them.
std::vector<std::filesystem::path> library_folders(const std::filesystem::path& driver_root);

}  // namespace cardcage::nvidia
