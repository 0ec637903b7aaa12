#pragma once

#include <string>

namespace cardcage {

// Not UTF-8, and contains a zero.
inline const std::string kBytes("\xff\0\xfe", 3);

}  // namespace cardcage
