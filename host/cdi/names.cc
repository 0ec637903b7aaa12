#include "host/cdi/names.h"

#include <fmt/format.h>

#include <algorithm>

#include "host/device/naming.h"

namespace cardcage {
namespace {

constexpr std::string_view kVendorPrefix = "cardcage.";
constexpr std::string_view kClass = "claim";
constexpr std::string_view kFileExtension = ".json";

// <cctype> asks the locale; names are ASCII.
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_alphanumeric(char c) { return is_letter(c) || is_digit(c); }

bool is_name_of(std::string_view text, std::string_view punctuation) {
  return !text.empty() && is_alphanumeric(text.front()) && is_alphanumeric(text.back()) &&
         std::ranges::all_of(text, [punctuation](char c) {
           return is_alphanumeric(c) || punctuation.find(c) != std::string_view::npos;
         });
}

// A second device of the same name in one claim carries a counter where others carry a share id.
bool is_counter(std::string_view text) { return text.size() < 8 && std::ranges::all_of(text, is_digit); }

}  // namespace

std::string cdi_kind(std::string_view driver) { return fmt::format("{}{}/{}", kVendorPrefix, driver, kClass); }

std::string cdi_qualified_name(std::string_view driver, std::string_view name) {
  return fmt::format("{}={}", cdi_kind(driver), name);
}

std::string cdi_device_name(std::string_view claim_uid, std::string_view device, std::string_view share_id) {
  return fmt::format("{}-{}{}{}", claim_uid, device, share_id.empty() ? "" : "_", share_id);
}

std::optional<CdiDeviceParts> parse_cdi_device_name(std::string_view name, std::string_view claim_uid) {
  if (!name.starts_with(claim_uid) || !name.substr(claim_uid.size()).starts_with("-")) return std::nullopt;
  name.remove_prefix(claim_uid.size() + 1);
  const auto divider = name.find('_');
  CdiDeviceParts parts{std::string(name.substr(0, divider)), {}};
  if (!is_dns_label(parts.device)) return std::nullopt;
  if (divider == std::string_view::npos) return parts;
  const auto rest = name.substr(divider + 1);
  const auto share = rest.substr(0, rest.find('_'));
  if (!is_counter(share)) parts.share_id = share;
  return parts;
}

std::string claim_file_name(std::string_view driver, std::string_view claim_uid) {
  return fmt::format("{}{}-{}_{}{}", kVendorPrefix, driver, kClass, claim_uid, kFileExtension);
}

std::optional<ClaimFile> parse_claim_file_name(std::string_view file_name) {
  if (!file_name.starts_with(kVendorPrefix) || !file_name.ends_with(kFileExtension)) return std::nullopt;
  const auto divider = file_name.rfind('_');
  if (divider == std::string_view::npos) return std::nullopt;
  const auto uid = file_name.substr(divider + 1, file_name.size() - divider - 1 - kFileExtension.size());
  auto vendor = file_name.substr(0, divider);
  const std::string tail = fmt::format("-{}", kClass);
  if (!vendor.ends_with(tail)) return std::nullopt;
  vendor.remove_suffix(tail.size());
  vendor.remove_prefix(kVendorPrefix.size());
  if (!is_driver_name(vendor) || !is_claim_uid(uid)) return std::nullopt;
  return ClaimFile{std::string(vendor), std::string(uid)};
}

bool is_claim_uid(std::string_view text) { return text.size() <= 63 && is_name_of(text, "-"); }

bool is_cdi_device_name(std::string_view text) { return text.size() <= 253 && is_name_of(text, "_-.:"); }

bool is_cdi_kind(std::string_view text) {
  const auto slash = text.find('/');
  if (slash == std::string_view::npos) return false;
  const auto vendor = text.substr(0, slash), device_class = text.substr(slash + 1);
  return vendor.size() <= 253 && is_name_of(vendor, "_-.") && is_letter(vendor.front()) && device_class.size() <= 63 &&
         is_name_of(device_class, "_-.") && is_letter(device_class.front());
}

}  // namespace cardcage
