#include "host/config/resource_pattern.h"

#include <algorithm>
#include <optional>
#include <type_traits>
#include <vector>

#include "host/config/names.h"
#include "host/core/ascii.h"
#include "host/core/glob.h"

namespace cardcage {
namespace {

struct Part {
  std::string_view text;
  bool attribute = false;  // the text is the name of one
};

Result<std::vector<Part>> parts_of(std::string_view pattern) {
  std::vector<Part> parts;
  for (std::string_view rest = pattern; !rest.empty();) {
    const auto open = rest.find_first_of("{}");
    if (open > 0) parts.push_back({rest.substr(0, open)});
    if (open == std::string_view::npos) break;
    const auto close = rest.find_first_of("{}", open + 1);
    if (rest[open] == '}') return fail(Code::kInvalidArgument, "'{}' has a '}}' without a '{{' before it", pattern);
    if (close == std::string_view::npos || rest[close] == '{')
      return fail(Code::kInvalidArgument, "'{}' has a '{{' without a '}}' after it", pattern);
    const std::string_view name = rest.substr(open + 1, close - open - 1);
    if (name.empty())
      return fail(Code::kInvalidArgument, "'{}' has empty braces; write the name of an attribute into them", pattern);
    if (const auto valid = check_attribute_name(name); !valid) return within(valid.error(), "'{}'", pattern);
    parts.push_back({name, true});
    rest.remove_prefix(close + 1);
  }
  return parts;
}

// `fill` gives the text that takes the place of an attribute.
template <class Fill>
std::string filled(const std::vector<Part>& parts, const Fill& fill) {
  std::string text;
  for (const Part& part : parts) text += part.attribute ? fill(part.text) : std::string(part.text);
  return text;
}

std::optional<std::string> text_of(const std::string& text) { return text; }
std::optional<std::string> text_of(const SemVer& version) { return version.text; }
std::optional<std::string> text_of(std::int64_t number) { return std::to_string(number); }
std::optional<std::string> text_of(bool flag) { return flag ? "true" : "false"; }
template <class T>
std::optional<std::string> text_of(const std::vector<T>&) {
  return std::nullopt;
}

Result<std::string> text_in_name(const Device& device, std::string_view attribute) {
  const auto entry = device.attributes.find(std::string(attribute));
  if (entry == device.attributes.end()) return fail(Code::kNotFound, "it has no attribute '{}'", attribute);
  auto text = std::visit([](const auto& value) { return text_of(value); }, entry->second);
  if (!text) return fail(Code::kInvalidArgument, "its attribute '{}' is a list and gives no name", attribute);
  const auto foreign = [](char c) { return !is_alphanumeric(c) && c != '-' && c != '_'; };
  std::ranges::replace_if(*text, foreign, '.');
  return *std::move(text);
}

}  // namespace

Status check_resource_pattern(std::string_view pattern) {
  if (!has_attributes(pattern)) return check_resource_name(pattern);
  const auto parts = parts_of(pattern);
  if (!parts) return std::unexpected(parts.error());
  if (const auto slash = pattern.find('/'); slash != std::string_view::npos && pattern.find('{') < slash)
    return fail(Code::kInvalidArgument, "'{}' has braces in its domain; write domain/name with braces in the name",
                pattern);
  // The shortest text that is valid at any place of a name.
  const auto valid = check_resource_name(filled(*parts, [](std::string_view) { return std::string("0"); }));
  if (!valid) return within(valid.error(), "'{}' with 0 for each attribute", pattern);
  return {};
}

bool has_attributes(std::string_view pattern) { return pattern.find_first_of("{}") != std::string_view::npos; }

Result<std::string> resource_name(std::string_view pattern, const Device& device) {
  const auto parts = parts_of(pattern);
  if (!parts) return std::unexpected(parts.error());
  Status found;
  std::string name = filled(*parts, [&](std::string_view attribute) {
    auto text = text_in_name(device, attribute);
    if (!text && found) found = std::unexpected(text.error());
    return std::move(text).value_or("");
  });
  if (found) found = check_resource_name(name);
  if (!found) return std::unexpected(found.error());
  return name;
}

std::size_t literal_size(std::string_view pattern) {
  const auto parts = parts_of(pattern);
  return parts ? filled(*parts, [](std::string_view) { return std::string(); }).size() : 0;
}

bool can_give(std::string_view pattern, const std::string& name) {
  const auto parts = parts_of(pattern);
  // No character of a name is special in a glob.
  return parts && matches_glob(filled(*parts, [](std::string_view) { return std::string("*"); }), name);
}

}  // namespace cardcage
