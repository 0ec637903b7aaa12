// Finds processes that have a device node open.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

namespace cardcage::hardware {

// Returns whether the process, a folder of procfs, has a descriptor of the device node or of another node with the same
// numbers, as containers have them. `error` says why that cannot be seen.
bool has_open(const std::filesystem::path& process, const std::filesystem::path& node, std::error_code& error);

// Explains why this process does not see the open files of each process of the node, with the remedy; empty if it does.
std::string why_users_are_hidden(const std::filesystem::path& procfs);

// Returns the pids of visible processes with a descriptor of the device node, up to a limit.
std::vector<std::string> pids_with_open(const std::filesystem::path& procfs, const std::filesystem::path& node,
                                        std::size_t most);

// Sends SIGKILL to the process with this pid if it has the device node open. Returns why it was spared; empty if it was
// killed or has ended. Drivers report wrong pids, and pids are used again: only a process that visibly uses the
// hardware is killed, and never this one or one of its ancestors.
std::string kill_user_of(const std::filesystem::path& node, std::uint64_t pid);

}  // namespace cardcage::hardware
