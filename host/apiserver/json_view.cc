#include "host/apiserver/json_view.h"

namespace cardcage {
namespace {

// Opaque parameters may be nested more deeply than the objects of Kubernetes.
constexpr std::size_t kMaxDepth = 128;

const json::object kNoObject;
const json::array kNoArray;

}  // namespace

Result<json::value> parse_json(std::string_view text, std::string_view what) {
  json::parse_options options;
  options.max_depth = kMaxDepth;
  json::error_code failure;
  json::value value = json::parse(text, failure, {}, options);
  if (failure) return fail(Code::kInvalidArgument, "{} is not JSON: {}", what, failure.message());
  return value;
}

const json::object& as_object(const json::value& value) {
  const auto* object = value.if_object();
  return object != nullptr ? *object : kNoObject;
}

const json::object& object_at(const json::object& object, std::string_view key) {
  const auto* value = object.if_contains(key);
  return value != nullptr ? as_object(*value) : kNoObject;
}

Result<const json::array*> items_of(const json::object& list) {
  const auto* items = list.if_contains("items");
  if (items == nullptr || !items->is_array()) return fail(Code::kUnavailable, "the API server sent no list of items");
  return &items->get_array();
}

const json::array& array_at(const json::object& object, std::string_view key) {
  const auto* value = object.if_contains(key);
  const auto* array = value != nullptr ? value->if_array() : nullptr;
  return array != nullptr ? *array : kNoArray;
}

std::string_view text_at(const json::object& object, std::string_view key) {
  const auto* value = object.if_contains(key);
  const auto* text = value != nullptr ? value->if_string() : nullptr;
  return text != nullptr ? std::string_view(*text) : std::string_view();
}

std::int64_t int_at(const json::object& object, std::string_view key, std::int64_t otherwise) {
  const auto* value = object.if_contains(key);
  const auto* number = value != nullptr ? value->if_int64() : nullptr;
  return number != nullptr ? *number : otherwise;
}

bool bool_at(const json::object& object, std::string_view key) {
  const auto* value = object.if_contains(key);
  const auto* flag = value != nullptr ? value->if_bool() : nullptr;
  return flag != nullptr && *flag;
}

}  // namespace cardcage
