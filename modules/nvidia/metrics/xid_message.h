// The names of XIDs in the label err_msg of dcgm-exporter, which alerts may match.
#pragma once

#include <string_view>

namespace cardcage::nvidia {

// "No Error" of 0, "Unknown Error" of a number that it does not know.
std::string_view xid_message(unsigned long long xid);

}  // namespace cardcage::nvidia
