#include "host/config/names.h"

#include <algorithm>

#include "host/model/naming.h"
#include "host/model/text_rules.h"

namespace cardcage {
namespace {

constexpr std::size_t kMaxPath = 4095;  // PATH_MAX without the NUL
// The quota "requests.<domain>/<name>" must be a valid name too.
constexpr std::size_t kMaxResourceDomain = kMaxDnsSubdomain - std::string_view("requests.").size();

Status check(bool valid, std::string_view name, std::string_view what, std::string_view rule) {
  if (valid) return {};
  return fail(Code::kInvalidArgument, "'{}' is not {}; write {}", name, what, rule);
}

bool goes_up(std::string_view path) {
  for (const auto& part : std::filesystem::path(path))
    if (part == "..") return true;
  return false;
}

Status check_path_text(std::string_view text) {
  if (text.empty()) return fail(Code::kInvalidArgument, "the path is empty");
  if (text.size() > kMaxPath) return fail(Code::kInvalidArgument, "the path is longer than {} bytes", kMaxPath);
  if (std::ranges::any_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }))
    return fail(Code::kInvalidArgument, "'{}' contains control characters", text);
  if (goes_up(text)) return fail(Code::kInvalidArgument, "'{}' contains '..'; write the path without it", text);
  return {};
}

std::filesystem::path normal_form(std::string_view text) {
  auto path = std::filesystem::path(text).lexically_normal();
  return path.has_filename() || path == path.root_path() ? path : path.parent_path();
}

// Names the rule of IsExtendedResourceName (k/k pkg/apis/core/v1/helper/helpers.go) that the name breaks. The kubelet
// accepts a registration by these rules.
std::string fault_of_resource_name(std::string_view name) {
  const auto slash = name.find('/');
  if (slash == std::string_view::npos) return "it has no domain";
  const std::string_view domain = name.substr(0, slash), last = name.substr(slash + 1);
  if (name.find("kubernetes.io/") != std::string_view::npos) return "kubernetes.io is reserved for Kubernetes";
  if (name.starts_with("requests.")) return "the prefix 'requests.' is reserved for quotas";
  if (domain.size() > kMaxResourceDomain)
    return fmt::format("its domain has {} bytes, at most {} are allowed", domain.size(), kMaxResourceDomain);
  if (!is_dns_subdomain(domain))
    return fmt::format("'{}' is not a domain of lower-case letters, digits and '-' in parts joined with '.'", domain);
  if (last.size() > kMaxDnsLabel)
    return fmt::format("the part after '/' has {} bytes, at most {} are allowed", last.size(), kMaxDnsLabel);
  return "after '/' only letters, digits, '-', '_' and '.' are allowed, with a letter or digit at both ends";
}

}  // namespace

Status check_node_name(std::string_view name) {
  return check(is_dns_subdomain(name), name, "a node name",
               "lower-case letters, digits and '-' in parts joined with '.', at most 253 bytes");
}

Status check_label(std::string_view name) {
  return check(is_dns_label(name), name, "a name",
               "lower-case letters, digits and '-', beginning and ending with a letter or digit, at most 63 bytes");
}

Status check_driver_name(std::string_view name) {
  if (name.find('{') != std::string_view::npos)
    return fail(Code::kInvalidArgument,
                "'{}' is not a driver name: braces are for the resource of a rule with api = \"device-plugin\"", name);
  return check(is_driver_name(name), name, "a driver name", "a DNS subdomain in lower case, at most 63 bytes");
}

Status check_pool_name(std::string_view name) {
  return check(is_pool_name(name), name, "a pool name", "DNS subdomains joined with '/', at most 253 bytes");
}

Status check_resource_name(std::string_view name) {
  if (is_extended_resource_name(name)) return {};
  return fail(Code::kInvalidArgument, "'{}' is not a resource name: {}; write domain/name, like \"example.com/fpga\"",
              name, fault_of_resource_name(name));
}

Status check_attribute_name(std::string_view name) {
  return check(is_qualified_name(name), name, "an attribute name",
               "an identifier of at most 32 bytes, optionally after \"domain/\"");
}

Status check_path_pattern(std::string_view pattern) {
  const std::size_t first_end = std::min(pattern.find('/', 1), pattern.size());
  const bool named = pattern.substr(0, first_end).find_first_of("*?[\\") == std::string_view::npos;
  return check(is_clean_path(pattern) && named && first_end < pattern.size(), pattern,
               "the absolute path of files below a folder that it names", "one like \"/sys/bus/pci/devices/*/reset\"");
}

Result<std::filesystem::path> absolute_path(std::string_view text) {
  if (auto valid = check_path_text(text); !valid) return std::unexpected(valid.error());
  if (!text.starts_with('/'))
    return fail(Code::kInvalidArgument, "'{}' is not an absolute path; begin it with /", text);
  return normal_form(text);
}

Result<std::filesystem::path> path_below(std::string_view text) {
  if (auto valid = check_path_text(text); !valid) return std::unexpected(valid.error());
  if (text.starts_with('/')) return fail(Code::kInvalidArgument, "'{}' is not a relative path", text);
  auto path = normal_form(text);
  if (path == ".") return fail(Code::kInvalidArgument, "'{}' names no file", text);
  return path;
}

}  // namespace cardcage
