// Encodes texts for use in a URL (RFC 3986).
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "host/core/ascii.h"

namespace cardcage {

inline std::string percent_encode(std::string_view text) {
  std::string encoded;
  for (const char c : text) {
    if (is_alphanumeric(c) || c == '-' || c == '.' || c == '_' || c == '~')
      encoded += c;
    else
      encoded += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return encoded;
}

}  // namespace cardcage
