// The copy of a module file that runs in this process, for tools that read the symbols of mapped files.
#pragma once

#include <filesystem>

#include "host/loader/loader.h"

namespace cardcage {

// Replaces the image of `staged` by a file in the new folder `folder`: valgrind opens a file by its name when it is
// mapped, and a memfd has none. The image stays as it is where no such file can be mapped, as with the mount option
// noexec.
void map_from_folder(StagedModule& staged, const std::filesystem::path& folder);

}  // namespace cardcage
