#include "sim/fpga/built_files.h"

namespace cardcage::fake_fpga {

std::filesystem::path program_file() { return CARDCAGE_FAKE_FPGA; }
std::filesystem::path xbutil_file() { return CARDCAGE_FAKE_XBUTIL; }

}  // namespace cardcage::fake_fpga
