#include "host/model/quantity.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <optional>

#include "host/core/number.h"

namespace cardcage {
namespace {

__extension__ typedef __int128 Wide;

constexpr std::int64_t kNano = -9;          // Kubernetes rounds anything smaller away from zero
constexpr std::int64_t kExa = 18;           // the largest decimal suffix
constexpr std::size_t kMaxText = 128;       // longer than any quantity
constexpr int kMaxDigits = 20;              // significant digits; times 2^60 they still fit in Wide
constexpr std::int32_t kMaxExponent = 100;  // "1e100"
constexpr std::int64_t kMaxShift = 19;      // decimal places by which a 64-bit value can be shifted in Wide
constexpr std::string_view kDecimalSuffixes = "num kMGTPE";  // from nano up; the blank means no suffix
constexpr std::string_view kBinarySuffixes = "KMGTPE";

struct Amount {
  Wide value = 0;
  std::int64_t exponent = 0;
  bool more = false;  // digits beyond kMaxDigits were dropped, so the real amount is a little larger
};

// Returns the unique form of an amount: its value does not end in zero.
Amount normalized(Amount amount) {
  if (amount.value == 0) return {};
  for (; amount.value % 10 == 0; amount.value /= 10) ++amount.exponent;
  return amount;
}

// Rounds up to whole nanos. `amount` is not negative.
Amount rounded_to_nano(Amount amount) {
  bool inexact = amount.more;
  for (; amount.exponent < kNano && amount.value != 0; ++amount.exponent) {
    inexact = inexact || amount.value % 10 != 0;
    amount.value /= 10;
  }
  if (inexact) amount.value += 1;
  return normalized({amount.value, std::max(amount.exponent, kNano)});
}

std::string decimal_text(Amount amount) {
  const bool negative = amount.value < 0;
  if (negative) amount.value = -amount.value;
  amount = rounded_to_nano(amount);
  // Makes the exponent the largest possible multiple of 3.
  for (; amount.exponent % 3 != 0; --amount.exponent) amount.value *= 10;
  std::string text = fmt::format("{}{}", negative ? "-" : "", amount.value);
  if (amount.exponent > kExa) return fmt::format("{}e{}", text, amount.exponent);
  if (amount.exponent != 0) text += kDecimalSuffixes[static_cast<std::size_t>((amount.exponent - kNano) / 3)];
  return text;
}

// Formats with a binary suffix ("Gi"); nothing unless the amount is a whole number of at least 1024.
std::optional<std::string> binary_text(Amount amount) {
  if (amount.exponent < 0 || amount.exponent > kExa) return std::nullopt;
  for (; amount.exponent > 0; --amount.exponent) amount.value *= 10;
  if (amount.value > -1024 && amount.value < 1024) return std::nullopt;
  std::size_t power = 0;
  for (; amount.value % 1024 == 0 && power < kBinarySuffixes.size(); amount.value /= 1024) ++power;
  if (power == 0) return fmt::format("{}", amount.value);
  return fmt::format("{}{}i", amount.value, kBinarySuffixes[power - 1]);
}

// Takes a number such as "12.50" off the front of `text`; returns nothing without a digit.
std::optional<Amount> take_number(std::string_view& text) {
  Amount amount;
  std::int64_t digits = 0, places = 0;  // digits in the value; decimal places after the last of them
  bool any = false, point = false;
  for (; !text.empty(); text.remove_prefix(1)) {
    const char c = text.front();
    if (c == '.' && !point) {
      point = true;
      continue;
    }
    if (c < '0' || c > '9') break;
    any = true;
    if (point) --amount.exponent;
    ++places;
    if (c == '0') continue;
    if (amount.value == 0) places = 1;
    if (digits + places > kMaxDigits) {
      amount.more = true;
      continue;
    }
    digits += places;
    for (; places > 0; --places) amount.value *= 10;
    amount.value += c - '0';
  }
  if (!any) return std::nullopt;
  amount.exponent += places;
  return amount;
}

struct Suffix {
  std::int64_t exponent = 0;  // power of 10 or 2, depending on the format
  Quantity::Format format = Quantity::Format::kDecimal;
};

std::optional<Suffix> suffix_of(std::string_view text) {
  if (text.empty()) return Suffix{};
  if (text.size() == 2 && text[1] == 'i') {
    const auto power = kBinarySuffixes.find(text[0]);
    if (power == std::string_view::npos) return std::nullopt;
    return Suffix{static_cast<std::int64_t>(power + 1) * 10, Quantity::Format::kBinary};
  }
  if (text.size() == 1) {
    const auto power = text[0] == ' ' ? std::string_view::npos : kDecimalSuffixes.find(text[0]);
    if (power == std::string_view::npos) return std::nullopt;
    return Suffix{static_cast<std::int64_t>(power) * 3 + kNano, Quantity::Format::kDecimal};
  }
  if (text[0] != 'e' && text[0] != 'E') return std::nullopt;
  text.remove_prefix(1);
  if (text[0] == '+') text.remove_prefix(text.size() > 1 && text[1] != '-' ? 1 : 0);
  const auto exponent = number_from<std::int32_t>(text);
  if (!exponent || *exponent < -kMaxExponent || *exponent > kMaxExponent) return std::nullopt;
  return Suffix{*exponent, Quantity::Format::kDecimal};
}

}  // namespace

std::string Quantity::to_string() const {
  const Amount amount = normalized({value, exp10});
  if (format == Format::kBinary)
    if (auto text = binary_text(amount)) return *std::move(text);
  return decimal_text(amount);
}

Result<Quantity> Quantity::parse(std::string_view text) {
  const auto malformed = [&] {
    return fail(Code::kInvalidArgument, "quantity '{}' is not a number with an optional suffix such as k, Mi or e3",
                text.substr(0, kMaxText));
  };
  if (text.size() > kMaxText) return malformed();
  std::string_view rest = text;
  const bool negative = rest.starts_with('-');
  if (negative || rest.starts_with('+')) rest.remove_prefix(1);
  auto amount = take_number(rest);
  const auto suffix = suffix_of(rest);
  if (!amount || !suffix) return malformed();
  if (suffix->format == Format::kBinary)
    amount->value *= Wide{1} << suffix->exponent;
  else
    amount->exponent += suffix->exponent;
  const bool inexact = amount->more && amount->exponent >= kNano;
  const Amount exact = rounded_to_nano(normalized(*amount));
  if (inexact || exact.value > std::numeric_limits<std::int64_t>::max())
    return fail(Code::kOutOfRange, "quantity '{}' has more digits than fit in 64 bits", text);
  Quantity quantity;
  quantity.value = static_cast<std::int64_t>(negative ? -exact.value : exact.value);
  quantity.exp10 = static_cast<std::int32_t>(exact.exponent);
  quantity.format = suffix->format;
  return quantity;
}

std::optional<std::int64_t> Quantity::in_units(std::int32_t unit) const {
  const Amount amount = normalized({value, exp10});
  std::int64_t exponent = amount.value == 0 ? 0 : amount.exponent - unit;
  if (exponent < 0 || exponent > kMaxShift) return std::nullopt;
  Wide units = amount.value;
  for (; exponent > 0; --exponent) units *= 10;
  if (units < std::numeric_limits<std::int64_t>::min() || units > std::numeric_limits<std::int64_t>::max())
    return std::nullopt;
  return static_cast<std::int64_t>(units);
}

bool Quantity::is_whole() const { return normalized({value, exp10}).exponent >= 0; }

Quantity Quantity::rounded_up() const {
  if (is_whole()) return *this;
  std::int64_t whole = value;
  for (std::int32_t exponent = exp10; exponent < 0; ++exponent) whole /= 10;
  return {whole + 1, 0, format};
}

bool operator==(const Quantity& a, const Quantity& b) { return (a <=> b) == std::strong_ordering::equal; }

std::strong_ordering operator<=>(const Quantity& a, const Quantity& b) {
  Amount left = normalized({a.value, a.exp10}), right = normalized({b.value, b.exp10});
  const auto sign = [](const Amount& amount) { return amount.value < 0 ? -1 : amount.value > 0 ? 1 : 0; };
  if (sign(left) != sign(right) || sign(left) == 0) return sign(left) <=> sign(right);
  const bool left_coarser = left.exponent > right.exponent;
  Amount& coarse = left_coarser ? left : right;
  std::int64_t shift = std::abs(left.exponent - right.exponent);
  // A value of 64 bits has at most 19 digits, so the coarser amount is the larger one beyond that.
  if (shift > kMaxShift)
    return left_coarser == (sign(left) > 0) ? std::strong_ordering::greater : std::strong_ordering::less;
  for (; shift > 0; --shift) coarse.value *= 10;
  return left.value < right.value   ? std::strong_ordering::less
         : left.value > right.value ? std::strong_ordering::greater
                                    : std::strong_ordering::equal;
}

}  // namespace cardcage
