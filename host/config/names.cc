#include "host/config/names.h"

#include <algorithm>

#include "host/device/naming.h"

namespace cardcage {
namespace {

constexpr std::size_t kLongestPath = 4095;  // PATH_MAX without the NUL

Status check(bool fine, std::string_view name, std::string_view what, std::string_view rule) {
  if (fine) return {};
  return fail(Code::kInvalidArgument, "'{}' is not {}; write {}", name, what, rule);
}

bool goes_up(std::string_view path) {
  for (const auto& part : std::filesystem::path(path))
    if (part == "..") return true;
  return false;
}

Status check_path_text(std::string_view text) {
  if (text.empty()) return fail(Code::kInvalidArgument, "the path is empty");
  if (text.size() > kLongestPath) return fail(Code::kInvalidArgument, "the path is longer than {} bytes", kLongestPath);
  if (std::ranges::any_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }))
    return fail(Code::kInvalidArgument, "'{}' contains control characters", text);
  if (goes_up(text)) return fail(Code::kInvalidArgument, "'{}' contains '..'; write the path that is meant", text);
  return {};
}

std::filesystem::path normal_form(std::string_view text) {
  auto path = std::filesystem::path(text).lexically_normal();
  return path.has_filename() || path == path.root_path() ? path : path.parent_path();
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
  return check(is_driver_name(name), name, "a driver name", "a DNS subdomain in lower case, at most 63 bytes");
}

Status check_pool_name(std::string_view name) {
  return check(is_pool_name(name), name, "a pool name", "DNS subdomains joined with '/', at most 253 bytes");
}

Status check_resource_name(std::string_view name) {
  return check(is_extended_resource_name(name), name, "a resource name",
               "domain/name with the vendor's domain, like \"example.com/fpga\"");
}

Status check_attribute_name(std::string_view name) {
  return check(is_qualified_name(name), name, "an attribute name",
               "an identifier of at most 32 bytes, optionally behind \"domain/\"");
}

Result<std::filesystem::path> absolute_path(std::string_view text) {
  if (auto fine = check_path_text(text); !fine) return std::unexpected(fine.error());
  if (!text.starts_with('/')) return fail(Code::kInvalidArgument, "'{}' is not an absolute path", text);
  return normal_form(text);
}

Result<std::filesystem::path> path_below(std::string_view text) {
  if (auto fine = check_path_text(text); !fine) return std::unexpected(fine.error());
  if (text.starts_with('/')) return fail(Code::kInvalidArgument, "'{}' is not a relative path", text);
  auto path = normal_form(text);
  if (path == ".") return fail(Code::kInvalidArgument, "'{}' names no file", text);
  return path;
}

}  // namespace cardcage
