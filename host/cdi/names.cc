#include "host/cdi/names.h"

#include <fmt/format.h>

#include <algorithm>

#include "host/core/ascii.h"
#include "host/model/naming.h"

namespace cardcage {
namespace {

constexpr std::string_view kVendorPrefix = "cardcage.";
constexpr std::string_view kClaimClass = "claim", kDeviceClass = "device";
constexpr std::string_view kFileExtension = ".json";

bool is_name_of(std::string_view text, std::string_view punctuation) {
  return !text.empty() && is_alphanumeric(text.front()) && is_alphanumeric(text.back()) &&
         std::ranges::all_of(text, [punctuation](char c) {
           return is_alphanumeric(c) || punctuation.find(c) != std::string_view::npos;
         });
}

// A second device of the same name in one claim has a counter in place of the share id.
bool is_counter(std::string_view text) { return text.size() < 8 && std::ranges::all_of(text, is_digit); }

// Vendors and file names must not have a '/', and no domain has a '_'.
std::string vendor_of(const ServedName& served) {
  std::string vendor = fmt::format("{}{}", kVendorPrefix, served.name);
  std::ranges::replace(vendor, '/', '_');
  return vendor;
}

std::string_view class_of(const ServedName& served) { return served.is_resource() ? kDeviceClass : kClaimClass; }

// The inverse of vendor_of and class_of, for a vendor without our prefix. Nothing if no such name can exist.
std::optional<ServedName> served_of(std::string vendor, std::string_view device_class) {
  if (device_class == kClaimClass && is_driver_name(vendor)) return ServedName{Api::kDra, std::move(vendor)};
  if (device_class != kDeviceClass) return std::nullopt;
  if (const auto divider = vendor.find('_'); divider != std::string::npos) vendor[divider] = '/';
  if (!is_extended_resource_name(vendor)) return std::nullopt;
  return ServedName{Api::kDevicePlugin, std::move(vendor)};
}

}  // namespace

std::string cdi_kind(const ServedName& served) { return fmt::format("{}/{}", vendor_of(served), class_of(served)); }

std::string cdi_qualified_name(const ServedName& served, std::string_view name) {
  return fmt::format("{}={}", cdi_kind(served), name);
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

std::string claim_file_name(const ServedName& served, std::string_view claim_uid) {
  return fmt::format("{}-{}_{}{}", vendor_of(served), class_of(served), claim_uid, kFileExtension);
}

std::optional<ClaimFile> parse_claim_file_name(std::string_view file_name) {
  if (!file_name.starts_with(kVendorPrefix) || !file_name.ends_with(kFileExtension)) return std::nullopt;
  const auto divider = file_name.rfind('_');
  if (divider == std::string_view::npos) return std::nullopt;
  const auto uid = file_name.substr(divider + 1, file_name.size() - divider - 1 - kFileExtension.size());
  const auto vendor =
      file_name.substr(kVendorPrefix.size(), std::max(divider, kVendorPrefix.size()) - kVendorPrefix.size());
  const auto dash = vendor.rfind('-');
  if (dash == std::string_view::npos || !is_claim_uid(uid)) return std::nullopt;
  auto served = served_of(std::string(vendor.substr(0, dash)), vendor.substr(dash + 1));
  if (!served) return std::nullopt;
  return ClaimFile{std::move(*served), std::string(uid)};
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
