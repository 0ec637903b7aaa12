#pragma once

#include <filesystem>

namespace cardcage::fake_fpga {

// Paths of the built programs.
std::filesystem::path program_file();  // fake-fpga
std::filesystem::path xbutil_file();   // takes the root before the words of xbutil

}  // namespace cardcage::fake_fpga
