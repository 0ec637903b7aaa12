// GBS files of Intel's and Altera's cards: a GUID, the length of JSON metadata, the metadata, the data for the
// hardware. The layout is that of opae/bitstream.h in the OPAE SDK.
#pragma once

#include <string_view>

#include "modules/fpga/bitstream/bitstream.h"

namespace cardcage::fpga {

bool is_gbs(std::string_view head);
Bitstream parse_gbs(const FileBytes& file);

// Files for kernels before 6.4 begin with a magic number and the id of the interface. They name no function.
bool is_legacy_gbs(std::string_view head);
Bitstream parse_legacy_gbs(const FileBytes& file);

}  // namespace cardcage::fpga
