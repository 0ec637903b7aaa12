#include "host/model/interface_address.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "host/core/ascii.h"

namespace cardcage {

std::optional<std::string> canonical_interface_address(std::string_view text) {
  const auto slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const std::string address(text.substr(0, slash));
  const std::string_view digits = text.substr(slash + 1);
  if (digits.empty() || digits.size() > 3 || !std::ranges::all_of(digits, is_digit)) return std::nullopt;
  unsigned prefix = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), prefix);

  in6_addr bytes{};  // large enough for both families
  char canonical[INET6_ADDRSTRLEN];
  const bool is_v4 = address.find(':') == std::string::npos;
  const int family = is_v4 ? AF_INET : AF_INET6;
  if (::inet_pton(family, address.c_str(), &bytes) != 1 || prefix > (is_v4 ? 32u : 128u)) return std::nullopt;
  if (!is_v4 && IN6_IS_ADDR_V4MAPPED(&bytes)) return std::nullopt;
  if (::inet_ntop(family, &bytes, canonical, sizeof canonical) == nullptr) return std::nullopt;
  return fmt::format("{}/{}", canonical, prefix);
}

}  // namespace cardcage
