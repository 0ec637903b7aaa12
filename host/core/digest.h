#pragma once

#include <string>
#include <string_view>

namespace cardcage {

// SHA-256 in lower-case hex, as sha256sum prints it; empty if this system's OpenSSL has none.
std::string sha256_hex(std::string_view content);

}  // namespace cardcage
