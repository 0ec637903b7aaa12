// The libraries of the driver's user space: their places, their purposes, and the names by which programs load them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "modules/nvidia/capabilities.h"

namespace cardcage::nvidia {

struct DriverLibrary {
  std::filesystem::path file;            // below the driver's root; not a link
  std::vector<std::string> names;        // names by which programs load it, its SONAME first
  std::vector<std::string> other_names;  // the full version, and the name that programs are linked by
  std::string subfolder;                 // below a folder of libraries, where programs look for it: "vdpau"
};

// The libraries in these folders, which are library_folders() of the root, of a driver of this version that serve one
// of the capabilities; no name twice. Unreadable files are left out. The version is empty for a driver whose file names
// have none (WSL).
std::vector<DriverLibrary> find_driver_libraries(const std::filesystem::path& driver_root,
                                                 const std::vector<std::filesystem::path>& folders,
                                                 const std::string& version, const Capabilities& wanted);

}  // namespace cardcage::nvidia
