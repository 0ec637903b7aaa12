// Reads the state of a process or thread from /proc/PID/stat.
#pragma once

#include <filesystem>
#include <string>

namespace cardcage {

// The field with this number in proc_pid_stat(5), 3 or more. `process` is /proc/PID or a folder below its `task`. Empty
// if the process has ended.
std::string stat_field(const std::filesystem::path& process, int number);

}  // namespace cardcage
