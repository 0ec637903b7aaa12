// Who has a device node open.
#pragma once

#include <filesystem>
#include <string>

namespace cardcage::fpga {

// "process 4711 (app), process 4712 (app)": the processes, at most three, with a descriptor of the node. Empty if there
// is none, or if that cannot be seen from here.
std::string holders_of(const std::filesystem::path& procfs, const std::filesystem::path& node);

}  // namespace cardcage::fpga
