// Converts structs to JSON and back by one description of their members, so that reading and writing always agree.
//
//   template <class Fields> void describe(Fields& fields, Mount& mount) {
//     fields("hostPath", mount.host_path);
//   }
//
// Writing omits members with their default value. Reading leaves missing members at their default, ignores unknown
// members (a newer host may have written them) and fails on wrong types and numbers out of range.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "host/core/bounded.h"

namespace cardcage {

namespace json = boost::json;

class FieldWriter;
class FieldReader;

template <class T>
concept Described = requires(FieldWriter& writer, T& value) { describe(writer, value); };
template <class T>
concept Number = std::integral<T> && !std::same_as<T, bool>;

inline json::value to_json_value(bool value) { return value; }
inline json::value to_json_value(const std::string& value) { return json::string(value); }
// Milliseconds since 1970.
inline json::value to_json_value(std::chrono::system_clock::time_point time) {
  return static_cast<std::int64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count());
}
template <Number T>
json::value to_json_value(T value) {
  return static_cast<std::int64_t>(value);
}
template <class T>
  requires std::is_enum_v<T>
json::value to_json_value(T value) {
  return static_cast<std::int64_t>(value);
}
template <Described T>
json::value to_json_value(const T& value);
template <class T>
json::value to_json_value(const std::optional<T>& value) {
  return value ? to_json_value(*value) : json::value();
}
template <class T>
json::value to_json_value(const std::vector<T>& values) {
  json::array array;
  array.reserve(values.size());
  for (const T& value : values) array.push_back(to_json_value(value));
  return array;
}
template <class T, class Compare>
json::value to_json_value(const std::map<std::string, T, Compare>& values) {
  json::object object;
  for (const auto& [key, value] : values) object[key] = to_json_value(value);
  return object;
}

inline bool from_json_value(const json::value& json, bool& value) {
  return json.is_bool() && (value = json.get_bool(), true);
}
inline bool from_json_value(const json::value& json, std::string& value) {
  return json.is_string() && (value = json.get_string(), true);
}
template <Number T>
bool from_json_value(const json::value& json, T& value) {
  if (!json.is_int64() || !std::in_range<T>(json.get_int64())) return false;
  value = static_cast<T>(json.get_int64());
  return true;
}
inline bool from_json_value(const json::value& json, std::chrono::system_clock::time_point& time) {
  if (!json.is_int64()) return false;
  time = bounded_wall_time(json.get_int64());
  return true;
}
template <class T>
  requires std::is_enum_v<T>
bool from_json_value(const json::value& json, T& value) {
  std::underlying_type_t<T> number{};
  return from_json_value(json, number) && (value = static_cast<T>(number), true);
}
template <Described T>
bool from_json_value(const json::value& json, T& value);
template <class T>
bool from_json_value(const json::value& json, std::optional<T>& value) {
  return from_json_value(json, value.emplace());
}
template <class T>
bool from_json_value(const json::value& json, std::vector<T>& values) {
  if (!json.is_array()) return false;
  values.clear();
  for (const json::value& element : json.get_array())
    if (!from_json_value(element, values.emplace_back())) return false;
  return true;
}
template <class T, class Compare>
bool from_json_value(const json::value& json, std::map<std::string, T, Compare>& values) {
  if (!json.is_object()) return false;
  values.clear();
  for (const auto& [key, element] : json.get_object())
    if (!from_json_value(element, values[std::string(key)])) return false;
  return true;
}

class FieldWriter {
 public:
  template <class T>
  void operator()(std::string_view name, const T& value) {
    if (!(value == T{})) object[name] = to_json_value(value);
  }
  json::object object;
};

class FieldReader {
 public:
  explicit FieldReader(const json::object& object) : object_(object) {}
  template <class T>
  void operator()(std::string_view name, T& value) {
    if (const json::value* member = object_.if_contains(name)) ok = from_json_value(*member, value) && ok;
  }
  bool ok = true;

 private:
  const json::object& object_;
};

template <Described T>
json::value to_json_value(const T& value) {
  FieldWriter writer;
  describe(writer, const_cast<T&>(value));  // one description serves both directions; the writer only reads
  return std::move(writer.object);
}

template <Described T>
bool from_json_value(const json::value& json, T& value) {
  if (!json.is_object()) return false;
  FieldReader reader(json.get_object());
  describe(reader, value);
  return reader.ok;
}

}  // namespace cardcage
