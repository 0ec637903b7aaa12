// Finds the processes that have a device node open.
#pragma once

#include <filesystem>
#include <string>

namespace cardcage::fpga {

// Returns "process 4711 (app), process 4712 (app)": at most three processes with a descriptor of the node. Empty if
// there is none, or if this process cannot see it.
std::string holders_of(const std::filesystem::path& procfs, const std::filesystem::path& node);

}  // namespace cardcage::fpga
