#include "host/core/digest.h"

#include <fmt/ranges.h>
#include <openssl/evp.h>

#include <array>

namespace cardcage {

std::string sha256_hex(std::string_view content) {
  std::array<unsigned char, 32> digest{};
  if (EVP_Q_digest(nullptr, "SHA256", nullptr, content.data(), content.size(), digest.data(), nullptr) != 1) return "";
  return fmt::format("{:02x}", fmt::join(digest, ""));
}

}  // namespace cardcage
