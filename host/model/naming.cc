#include "host/model/naming.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <unordered_set>

#include "host/core/ascii.h"
#include "host/core/number.h"

namespace cardcage {
namespace {

bool is_label_char(char c) { return is_lower(c) || is_digit(c); }

bool is_subdomain_part(std::string_view text) {
  return !text.empty() && is_label_char(text.front()) && is_label_char(text.back()) &&
         std::ranges::all_of(text, [](char c) { return is_label_char(c) || c == '-'; });
}

bool is_c_identifier(std::string_view text) {
  return !text.empty() && !is_digit(text.front()) &&
         std::ranges::all_of(text, [](char c) { return is_alphanumeric(c) || c == '_'; });
}

// Checks the form of a label value, which is also that of the last part of a label key.
bool is_label_text(std::string_view text) {
  return !text.empty() && text.size() <= kMaxDnsLabel && is_alphanumeric(text.front()) &&
         is_alphanumeric(text.back()) &&
         std::ranges::all_of(text, [](char c) { return is_alphanumeric(c) || c == '-' || c == '_' || c == '.'; });
}

// Checks for a decimal number without leading zeros that fits in 64 bits.
bool is_semver_number(std::string_view text) {
  return number_from<std::uint64_t>(text) && (text.size() == 1 || text.front() != '0');
}

bool is_semver_identifier(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return is_alphanumeric(c) || c == '-'; });
}

// The kernel writes a domain with four digits, and with more where it has them, as behind Intel's VMD.
bool has_pci_shape(std::string_view text, char colon, char dot) {
  constexpr std::size_t kUsual = 12, kLongest = 16;
  if (text.size() < kUsual || text.size() > kLongest) return false;
  const std::size_t more = text.size() - kUsual;
  if (more > 0 && text.front() == '0') return false;
  if (text[4 + more] != colon || text[7 + more] != colon || text[10 + more] != dot) return false;
  return static_cast<std::size_t>(std::ranges::count_if(text, is_lower_hex)) == 9 + more;
}

// Returns the 64-bit FNV-1a hash as 8 characters of base 32. It must be the same on every host and in every release.
std::string hash_suffix(std::string_view id, unsigned salt) {
  std::uint64_t hash = 0xcbf29ce484222325u + salt;
  for (const char c : id) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  hash ^= hash >> 40;  // FNV mixes its high bits best: fold them into the 40 bits that are used
  std::string text;
  for (int i = 0; i < 8; ++i, hash >>= 5) text += "0123456789abcdefghijklmnopqrstuv"[hash & 31];
  return text;
}

std::string hashed_name(std::string_view id, unsigned salt) {
  constexpr std::size_t kMaxStem = kMaxDnsLabel - 9;
  std::string stem;
  for (char c : id) {
    if (stem.size() == kMaxStem) break;
    c = to_lower(c);
    if (is_label_char(c))
      stem += c;
    else if (!stem.empty() && stem.back() != '-')
      stem += '-';
  }
  while (!stem.empty() && stem.back() == '-') stem.pop_back();
  return fmt::format("{}-{}", stem.empty() ? "device" : stem, hash_suffix(id, salt));
}

}  // namespace

bool is_dns_label(std::string_view text) { return text.size() <= kMaxDnsLabel && is_subdomain_part(text); }

bool is_dns_subdomain(std::string_view text) {
  return text.size() <= kMaxDnsSubdomain && each_part(text, '.', is_subdomain_part);
}

bool is_driver_name(std::string_view text) { return text.size() <= 63 && is_dns_subdomain(text); }

bool is_pool_name(std::string_view text) { return text.size() <= 253 && each_part(text, '/', is_dns_subdomain); }

bool is_qualified_name(std::string_view text) {
  if (const auto slash = text.find('/'); slash != std::string_view::npos) {
    if (slash > 63 || !is_dns_subdomain(text.substr(0, slash))) return false;
    text.remove_prefix(slash + 1);
  }
  return text.size() <= 32 && is_c_identifier(text);
}

bool is_label_key(std::string_view text) {
  if (const auto slash = text.find('/'); slash != std::string_view::npos) {
    if (!is_dns_subdomain(text.substr(0, slash))) return false;
    text.remove_prefix(slash + 1);
  }
  return is_label_text(text);
}

bool is_label_value(std::string_view text) { return text.empty() || is_label_text(text); }

bool is_module_label(std::string_view text) {
  const std::string_view domain = text.substr(0, text.find('/'));
  const bool reserved = domain == "kubernetes.io" || domain.ends_with(".kubernetes.io") || domain == "k8s.io" ||
                        domain.ends_with(".k8s.io");
  return is_label_key(text) && domain.size() < text.size() && !reserved;
}

bool is_extended_resource_name(std::string_view text) {
  if (text.find('/') == std::string_view::npos || text.find("kubernetes.io/") != std::string_view::npos) return false;
  return !text.starts_with("requests.") && is_label_key(fmt::format("requests.{}", text));
}

bool is_semver(std::string_view text) {
  if (text.size() > kMaxAttributeText) return false;
  if (const auto plus = text.find('+'); plus != std::string_view::npos) {
    if (!each_part(text.substr(plus + 1), '.', is_semver_identifier)) return false;
    text = text.substr(0, plus);
  }
  if (const auto dash = text.find('-'); dash != std::string_view::npos) {
    const bool good = each_part(text.substr(dash + 1), '.', [](std::string_view part) {
      return is_semver_identifier(part) && (!std::ranges::all_of(part, is_digit) || is_semver_number(part));
    });
    if (!good) return false;
    text = text.substr(0, dash);
  }
  return std::ranges::count(text, '.') == 2 && each_part(text, '.', is_semver_number);
}

bool is_pci_bus_id(std::string_view text) { return has_pci_shape(text, ':', '.'); }

std::string device_name(std::string_view id) {
  if (is_pci_bus_id(id)) {
    std::string name(id);
    std::ranges::replace_if(name, [](char c) { return c == ':' || c == '.'; }, '-');
    return name;
  }
  // An id that looks like a converted bus address is hashed, so that the two cannot collide.
  if (is_dns_label(id) && !has_pci_shape(id, '-', '-')) return std::string(id);
  return hashed_name(id, 0);
}

void assign_names(std::vector<Device>& devices) {
  std::unordered_set<std::string> taken;
  taken.reserve(devices.size());
  for (const Device& device : devices) taken.insert(device.name);
  for (Device& device : devices) {
    if (!device.name.empty()) continue;
    device.name = device_name(device.id);
    for (unsigned salt = 1; !taken.insert(device.name).second; ++salt) device.name = hashed_name(device.id, salt);
  }
}

}  // namespace cardcage
