// Finds the process that holds the lock of a file.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>

namespace cardcage {

// The process that holds a lock of the file or folder, by flock(2) or fcntl(2). Nothing if none does, or if the process
// is in another PID namespace. `locks` is /proc/locks except in tests.
std::optional<pid_t> lock_holder(const std::filesystem::path& path, const std::filesystem::path& locks = "/proc/locks");

}  // namespace cardcage
