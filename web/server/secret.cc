#include "web/server/secret.h"

#include <fmt/ranges.h>
#include <openssl/crypto.h>
#include <sys/random.h>

#include <array>
#include <cstdlib>

namespace cardcage {

std::string random_secret() {
  std::array<unsigned char, 32> bytes{};
  // The kernel returns so few bytes at once. A secret that can be guessed is worse than no page.
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) std::abort();
  return fmt::format("{:02x}", fmt::join(bytes, ""));
}

bool same_secret(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace cardcage
