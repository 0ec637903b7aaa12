// "NAMESPACE/NAME" as people write it in flags and configuration files.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "host/model/naming.h"

namespace cardcage {

struct NamespacedText {
  std::string name_space, rest;
};

// Splits a text at its first slash. Returns nothing unless the part before it can name a namespace and the rest is not
// empty.
inline std::optional<NamespacedText> split_namespace(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos || !is_dns_label(text.substr(0, slash)) || slash + 1 == text.size()) return {};
  return NamespacedText{std::string(text.substr(0, slash)), std::string(text.substr(slash + 1))};
}

// As split_namespace(), for the name of an object.
inline std::optional<NamespacedText> parse_namespaced_name(std::string_view text) {
  auto parts = split_namespace(text);
  if (parts && !is_dns_subdomain(parts->rest)) parts.reset();
  return parts;
}

}  // namespace cardcage
