// The names of XIDs in the label err_msg of dcgm-exporter, which alerts may match.
#pragma once

#include <string_view>

namespace cardcage::nvidia {

// "No Error" for 0, "Unknown Error" for a number that is not in the table.
std::string_view xid_message(unsigned long long xid);

}  // namespace cardcage::nvidia
