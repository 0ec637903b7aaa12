// The folders below the driver's root that may hold the driver's libraries. Names are inside of the root, in the order
// in which programs search. A folder need not exist, and two names may lead to one folder.
#pragma once

#include <filesystem>
#include <vector>

namespace cardcage::nvidia {

// The folders of most distributions and of NVIDIA's installer.
const std::vector<std::filesystem::path>& usual_library_folders();
// Folders of one driver each, such as Debian's nvidia/current.
std::vector<std::filesystem::path> packaged_library_folders(const std::filesystem::path& driver_root);
// Folders of the driver's libraries that etc/ld.so.cache of the root names. Empty if it cannot be read.
std::vector<std::filesystem::path> cached_library_folders(const std::filesystem::path& driver_root);

// All of the above.
std::vector<std::filesystem::path> library_folders(const std::filesystem::path& driver_root);

}  // namespace cardcage::nvidia
