// Output: aligned tables for people, indented JSON for programs.
#pragma once

#include <boost/json/value.hpp>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "cardcage/admin.pb.h"

namespace cardcage {

// Replaces control characters, which could drive the terminal. Continuation lines are indented.
std::string printable(std::string_view text);
// Prints to stderr, after the output so far on stdout.
void print_error(std::string_view text);

// Columns as wide as their widest cell, two spaces apart; an empty cell shows as "-".
class Table {
 public:
  explicit Table(std::vector<std::string> header) : rows_{std::move(header)} {}
  void row(const std::vector<std::string>& cells);  // cells may have several lines
  // Indents every line by `indent` spaces.
  void print(std::size_t indent = 0) const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

// Prints "name   value" lines with aligned values; pairs with an empty value are left out.
void print_facts(std::initializer_list<std::pair<std::string_view, std::string>> facts, std::size_t indent = 0);

// Returns the value with two spaces of indentation and a newline at the end.
std::string json_text(const boost::json::value& value);
void print_json(const boost::json::value& value);
// Prints a member of the message.
void print_json(const google::protobuf::Message& message, std::string_view member);
// Returns the documented value: every member, also an empty one, but no absent message.
boost::json::value to_json(const google::protobuf::Message& message);

// Returns "state: detail", or the state alone.
std::string to_text(const admin::v1::Condition& condition);
// Returns "shared", "true" or "[a, b]".
std::string to_text(const google::protobuf::Value& value);
// Returns "default/training", or the UID if the name is unknown.
std::string to_text(const admin::v1::ClaimRef& ref);
// Returns "1 device" or "2 devices".
std::string count(std::uint64_t number, std::string_view noun);

// Returns "2027-01-15T08:00:00Z"; "" for an absent time.
std::string to_rfc3339(const google::protobuf::Timestamp& time);

// Numbers beyond 64 bits become the largest or smallest.
std::int64_t to_integer(double number);

// Returns null for "".
boost::json::value text_json(const std::string& text);

template <class Strings>
boost::json::array strings_json(const Strings& strings) {
  boost::json::array array;
  for (const auto& text : strings) array.emplace_back(text);
  return array;
}

}  // namespace cardcage
