#include "host/model/quantity.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>

namespace cardcage {
namespace {

__extension__ typedef __int128 Wide;

constexpr std::int64_t kNano = -9;                           // Kubernetes rounds anything smaller away from zero
constexpr std::int64_t kExa = 18;                            // the largest decimal suffix
constexpr std::size_t kMaxText = 128;                        // longer than any quantity
constexpr int kMaxDigits = 20;                               // significant digits; times 2^60 they still fit in Wide
constexpr std::int32_t kMaxExponent = 100;                   // "1e100"
constexpr std::string_view kDecimalSuffixes = "num kMGTPE";  // from nano up; the blank stands for no suffix
constexpr std::string_view kBinarySuffixes = "KMGTPE";

struct Amount {
  Wide value = 0;
  std::int64_t exponent = 0;
  bool more = false;  // digits beyond kMaxDigits were dropped, so the real amount is a little larger
  friend bool operator==(const Amount& a, const Amount& b) { return a.value == b.value && a.exponent == b.exponent; }
};

// The unique form of an amount whose value does not end in zero.
Amount normalized(Amount amount) {
  if (amount.value == 0) return {};
  for (; amount.value % 10 == 0; amount.value /= 10) ++amount.exponent;
  return amount;
}

// `amount` is not negative.
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
  // The exponent is a multiple of 3, as large as possible.
  for (; amount.exponent % 3 != 0; --amount.exponent) amount.value *= 10;
  std::string text = fmt::format("{}{}", negative ? "-" : "", amount.value);
  if (amount.exponent > kExa) return fmt::format("{}e{}", text, amount.exponent);
  if (amount.exponent != 0) text += kDecimalSuffixes[static_cast<std::size_t>((amount.exponent - kNano) / 3)];
  return text;
}

// The text with a binary suffix ("Gi"), or nothing unless the amount is a whole number of at least 1024.
std::optional<std::string> binary_text(Amount amount) {
  if (amount.exponent < 0 || amount.exponent > kExa) return std::nullopt;
  for (; amount.exponent > 0; --amount.exponent) amount.value *= 10;
  if (amount.value > -1024 && amount.value < 1024) return std::nullopt;
  std::size_t power = 0;
  for (; amount.value % 1024 == 0 && power < kBinarySuffixes.size(); amount.value /= 1024) ++power;
  if (power == 0) return fmt::format("{}", amount.value);
  return fmt::format("{}{}i", amount.value, kBinarySuffixes[power - 1]);
}

// Takes a number such as "12.50" off the front of `text`; returns nothing if there is no digit.
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
  std::int64_t exponent = 0;  // of 10 or of 2, as the format says
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
  std::int32_t exponent = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), exponent);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  if (exponent < -kMaxExponent || exponent > kMaxExponent) return std::nullopt;
  return Suffix{exponent, Quantity::Format::kDecimal};
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

bool operator==(const Quantity& a, const Quantity& b) {
  return normalized({a.value, a.exp10}) == normalized({b.value, b.exp10});
}

}  // namespace cardcage
