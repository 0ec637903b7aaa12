#pragma once

#include <string>
#include <string_view>

namespace cardcage {

// SHA-256 in lower-case hex, as sha256sum prints it; empty if the system's OpenSSL does not offer it.
std::string sha256_hex(std::string_view content);

}  // namespace cardcage
