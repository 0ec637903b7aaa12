// Reads data that a module passes by pointer: within bounds, and never past the struct_size that it set.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "cardcage/module.h"
#include "host/core/result.h"
#include "host/model/text_rules.h"

namespace cardcage {

// The number of bytes of a module's text that an error quotes.
constexpr std::size_t kQuoted = 80;

// The size of each extensible struct in ABI 1.0, or when it was new: up to its last member at that time.
constexpr std::size_t first_size(const cage_option*) { return offsetof(cage_option, max) + sizeof(cage_option::max); }
constexpr std::size_t first_size(const cage_params_schema*) {
  return offsetof(cage_params_schema, flags) + sizeof(cage_params_schema::flags);
}
// 0.3 added the value later.
constexpr std::size_t first_size(const cage_health*) {
  return offsetof(cage_health, taint_value) + sizeof(cage_health::taint_value);
}
constexpr std::size_t first_size(const cage_device*) { return offsetof(cage_device, name) + sizeof(cage_device::name); }
constexpr std::size_t first_size(const cage_device_node*) {
  return offsetof(cage_device_node, gid) + sizeof(cage_device_node::gid);
}
constexpr std::size_t first_size(const cage_mount*) {
  return offsetof(cage_mount, options) + sizeof(cage_mount::options);
}
constexpr std::size_t first_size(const cage_hook*) {
  return offsetof(cage_hook, env_count) + sizeof(cage_hook::env_count);
}
constexpr std::size_t first_size(const cage_net_device*) {
  return offsetof(cage_net_device, name) + sizeof(cage_net_device::name);
}

constexpr std::size_t first_size(const cage_metric*) {
  return offsetof(cage_metric, reserved) + sizeof(cage_metric::reserved);
}
constexpr std::size_t first_size(const cage_cause*) {
  return offsetof(cage_cause, taint_value) + sizeof(cage_cause::taint_value);
}
constexpr std::size_t first_size(const cage_catalogue_entry*) {
  return offsetof(cage_catalogue_entry, reserved) + sizeof(cage_catalogue_entry::reserved);
}
constexpr std::size_t first_size(const cage_request_policy*) {
  return offsetof(cage_request_policy, step) + sizeof(cage_request_policy::step);
}
constexpr std::size_t first_size(const cage_binding*) {
  return offsetof(cage_binding, failure_count) + sizeof(cage_binding::failure_count);
}
constexpr std::size_t first_size(const cage_condition*) {
  return offsetof(cage_condition, message) + sizeof(cage_condition::message);
}
constexpr std::size_t first_size(const cage_network_data*) {
  return offsetof(cage_network_data, ips) + sizeof(cage_network_data::ips);
}
// 0.3 added the input later.
constexpr std::size_t first_size(const cage_command*) {
  return offsetof(cage_command, env_count) + sizeof(cage_command::env_count);
}
constexpr std::size_t first_size(const cage_file_write*) {
  return offsetof(cage_file_write, data) + sizeof(cage_file_write::data);
}
constexpr std::size_t first_size(const cage_ioctl*) {
  return offsetof(cage_ioctl, reserved) + sizeof(cage_ioctl::reserved);
}

// Copies an extensible struct [R2]. Members that an older module did not know are zero, and members that a newer one
// adds are left out.
template <class T>
Result<T> adopt(const T* given, std::string_view type) {
  if (given == nullptr) return fail(Code::kInvalidArgument, "{} is NULL", type);
  const std::size_t size = given->struct_size;
  if (size < first_size(given) || size > 4096)
    return fail(Code::kInvalidArgument, "struct_size of {} is {}, expected at least {}: set it to sizeof({}) [R2]",
                type, size, first_size(given), type);
  T copy{};
  std::memcpy(&copy, given, std::min(size, sizeof copy));
  return copy;
}

// Borrows the text. Fails if it is longer than `max` bytes or has a size and no data.
inline Result<std::string_view> text_of(cage_str text, std::size_t max, std::string_view what) {
  if (text.size == 0) return std::string_view();
  if (text.data == nullptr) return fail(Code::kInvalidArgument, "{} has {} bytes and no data", what, text.size);
  if (text.size > max)
    return fail(Code::kInvalidArgument, "{} has {} bytes, at most {} are allowed", what, text.size, max);
  return std::string_view(text.data, text.size);
}

// Does the same for bytes.
inline Result<std::string_view> text_of(cage_bytes bytes, std::size_t max, std::string_view what) {
  return text_of(cage_str{static_cast<const char*>(bytes.data), bytes.size}, max, what);
}

template <class T>
Result<std::span<const T>> items_of(const T* items, std::uint32_t count, std::size_t max, std::string_view what) {
  if (count == 0) return std::span<const T>();
  if (items == nullptr) return fail(Code::kInvalidArgument, "{} has {} entries and no data", what, count);
  if (count > max) return fail(Code::kInvalidArgument, "{} has {} entries, at most {} are allowed", what, count, max);
  return std::span<const T>(items, count);
}

// Copies a text that satisfies `rule`; `expected` describes the rule in errors.
template <class Rule>
Result<std::string> ruled_text(cage_str given, Rule rule, std::string_view what, std::string_view expected) {
  const auto text = text_of(given, 4096, what);
  if (!text) return std::unexpected(text.error());
  if (!rule(*text)) return fail(Code::kInvalidArgument, "{} '{}' is not {}", what, printable(*text, kQuoted), expected);
  return std::string(*text);
}

// Returns a rule that accepts the empty text, too.
template <class Rule>
auto or_empty(Rule rule) {
  return [rule](std::string_view text) { return text.empty() || rule(text); };
}

// Returns the name of a thing for an error that refuses it; the name may break rules, too.
inline std::string shown_name(cage_str name) {
  const auto text = text_of(name, 4096, "name");
  return text ? printable(*text, kQuoted) : std::string("?");
}

}  // namespace cardcage
