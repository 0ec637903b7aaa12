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

// Prints with two spaces of indentation and a newline at the end.
void print_json(const boost::json::value& value);

// Returns "state: detail", or the state alone.
std::string to_text(const admin::v1::Condition& condition);
// Returns "shared", "true" or "[a, b]".
std::string to_text(const admin::v1::Value& value);
// Returns "default/training", or the UID if the name is unknown.
std::string to_text(const admin::v1::ClaimRef& ref);
// Returns "1 device" or "2 devices".
std::string count(std::uint64_t number, std::string_view noun);

boost::json::value to_json(const admin::v1::Condition& condition);
boost::json::value to_json(const admin::v1::Value& value);
boost::json::value to_json(const admin::v1::ClaimRef& ref);

// Converts milliseconds since the epoch to RFC 3339 in UTC, "2027-01-15T08:00:00Z"; "" for 0.
std::string to_rfc3339(std::int64_t milliseconds);
// Does the same for JSON: null for 0.
boost::json::value time_json(std::int64_t milliseconds);

// Returns null for "".
boost::json::value text_json(const std::string& text);

template <class Strings>
boost::json::array strings_json(const Strings& strings) {
  boost::json::array array;
  for (const auto& text : strings) array.emplace_back(text);
  return array;
}

// Prints the helper daemons of a module or claim.
template <class Services>
boost::json::array services_json(const Services& services) {
  boost::json::array list;
  for (const auto& service : services)
    list.push_back({{"module", service.module()},
                    {"claimUID", service.claim_uid()},
                    {"name", service.name()},
                    {"state", service.state()},
                    {"restarts", service.restarts()}});
  return list;
}

}  // namespace cardcage
