// The variable that tells a container about one of its devices.
#pragma once

#include <cctype>
#include <string>

namespace cardcage::hardware {

// Returns "NIC_0000_41_00_0" for the device "nic-0000-41-00-0". Each device has a variable of its own, because a
// container may have several devices.
inline std::string variable_of(std::string name) {
  for (char& c : name) c = c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return name;
}

}  // namespace cardcage::hardware
