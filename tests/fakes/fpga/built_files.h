#pragma once

#include <filesystem>

namespace cardcage::fake_fpga {

// The programs as they are built.
std::filesystem::path program_file();  // fake-fpga
std::filesystem::path xbutil_file();   // takes the root before the words of xbutil

}  // namespace cardcage::fake_fpga
