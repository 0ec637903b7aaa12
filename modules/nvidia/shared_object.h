// Shared libraries as files: whether programs of this machine can load one, and its SONAME.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace cardcage::nvidia {

// Whether the file starts as a 64-bit ELF library for this machine's processor.
bool is_loadable(const std::filesystem::path& file);

// The SONAME of a 64-bit ELF library for this machine's processor; empty if it has none. Nothing for any other file,
// such as the 32-bit libraries that distributions install beside them.
std::optional<std::string> read_soname(const std::filesystem::path& file);

}  // namespace cardcage::nvidia
