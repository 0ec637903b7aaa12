// Kubernetes' resource.Quantity, as far as device capacities need it.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "host/core/result.h"

namespace cardcage {

// The amount is value * 10^exp10.
struct Quantity {
  enum class Format : std::uint8_t { kDecimal, kBinary };

  std::int64_t value = 0;
  std::int32_t exp10 = 0;
  Format format = Format::kDecimal;

  // The canonical text, as the API server prints it: "32Gi", "1500m", "2k", "0".
  std::string to_string() const;
  // Reads any quantity that the API server may send: "1024Mi", "1e3", "0.5", "12E".
  static Result<Quantity> parse(std::string_view text);

  // Returns the amount in units of 10^exp10; nothing unless it is a whole number that fits in 64 bits.
  std::optional<std::int64_t> in_units(std::int32_t exp10) const;
  bool is_whole() const;
  // Rounds up to a whole amount. [not negative]
  Quantity rounded_up() const;

  // Compare amounts, not formats: 1024Mi equals 1Gi.
  friend bool operator==(const Quantity& a, const Quantity& b);
  friend std::strong_ordering operator<=>(const Quantity& a, const Quantity& b);
};

}  // namespace cardcage
