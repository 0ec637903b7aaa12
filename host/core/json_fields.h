// Converts structs to JSON and back by one description of their members, so that reading and writing always agree.
//
//   template <class Fields> void describe(Fields& fields, Mount& mount) {
//     fields("hostPath", mount.host_path);
//   }
//
// Writing omits members with their default value. Reading leaves missing members at their default, ignores unknown
// members (a newer host may have written them) and fails on wrong types and numbers out of range.
#pragma once

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <iterator>
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

// -- writing: each appends the value to `out` ------------------------------------------------------------------------
// Avoids a json::value: claims are written twice for each call of the kubelet.

inline void write_json(std::string& out, bool value) { out += value ? "true" : "false"; }
void write_json(std::string& out, std::string_view value);
inline void write_json(std::string& out, const std::string& value) { write_json(out, std::string_view(value)); }
template <Number T>
void write_json(std::string& out, T value) {
  fmt::format_to(std::back_inserter(out), "{}", static_cast<std::int64_t>(value));
}
// Milliseconds since 1970.
inline void write_json(std::string& out, std::chrono::system_clock::time_point time) {
  write_json(out, std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count());
}
template <class T>
  requires std::is_enum_v<T>
void write_json(std::string& out, T value) {
  write_json(out, static_cast<std::int64_t>(value));
}
template <Described T>
void write_json(std::string& out, const T& value);
template <class T>
void write_json(std::string& out, const std::optional<T>& value) {
  if (value)
    write_json(out, *value);
  else
    out += "null";
}
template <class T>
void write_json(std::string& out, const std::vector<T>& values) {
  out += '[';
  for (const T& value : values) {
    if (&value != values.data()) out += ',';
    write_json(out, value);
  }
  out += ']';
}
template <class T, class Compare>
void write_json(std::string& out, const std::map<std::string, T, Compare>& values) {
  out += '{';
  for (const auto& [key, value] : values) {
    if (out.back() != '{') out += ',';
    write_json(out, key);
    out += ':';
    write_json(out, value);
  }
  out += '}';
}

// -- reading ---------------------------------------------------------------------------------------------------------

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

// Writes the members of an object, whose braces are written by its user.
class FieldWriter {
 public:
  explicit FieldWriter(std::string& out) : out_(out), begin_(out.size()) {}
  template <class T>
  void operator()(std::string_view name, const T& value) {
    if (value == T{}) return;
    key(name);
    write_json(out_, value);
  }
  // Begins a value that the user writes.
  void key(std::string_view name) {
    if (out_.size() != begin_) out_ += ',';
    write_json(out_, name);
    out_ += ':';
  }

 private:
  std::string& out_;
  const std::size_t begin_;
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
void write_json(std::string& out, const T& value) {
  out += '{';
  FieldWriter writer(out);
  describe(writer, const_cast<T&>(value));  // one description serves both directions; the writer only reads
  out += '}';
}

template <class T>
std::string to_json_text(const T& value) {
  std::string out;
  write_json(out, value);
  return out;
}

template <Described T>
bool from_json_value(const json::value& json, T& value) {
  if (!json.is_object()) return false;
  FieldReader reader(json.get_object());
  describe(reader, value);
  return reader.ok;
}

}  // namespace cardcage
