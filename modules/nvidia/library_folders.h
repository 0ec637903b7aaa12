// The folders below the driver's root that may hold libraries of the driver.
#pragma once

#include <filesystem>
#include <vector>

namespace cardcage::nvidia {

// As distributions, NVIDIA's installer and its driver container lay them out: names inside of the root, of folders that
// exist, the one that programs search first at the front. Two names of one folder may both be there.
std::vector<std::filesystem::path> usual_library_folders(const std::filesystem::path& driver_root);

// Folders of the driver's libraries that etc/ld.so.cache of the root names. Empty if it cannot be read.
std::vector<std::filesystem::path> cached_library_folders(const std::filesystem::path& driver_root);

}  // namespace cardcage::nvidia
