// xclbin files of AMD's cards: a header and a table of sections. The layout is that of struct axlf in XRT's xclbin.h.
#pragma once

#include <string_view>

#include "modules/fpga/bitstream/bitstream.h"

namespace cardcage::fpga {

bool is_xclbin(std::string_view head);
Bitstream parse_xclbin(const FileBytes& file);

}  // namespace cardcage::fpga
