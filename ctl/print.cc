#include "ctl/print.h"

#include <fmt/ranges.h>
#include <google/protobuf/util/json_util.h>
#include <google/protobuf/util/type_resolver_util.h>

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <cmath>
#include <cstdio>
#include <cwchar>
#include <limits>
#include <memory>
#include <tuple>

#include "host/core/timestamp.h"
#include "host/rpc/message_bytes.h"

namespace cardcage {
namespace {

namespace json = boost::json;
namespace pb = google::protobuf;

constexpr std::size_t kGap = 2;

// Returns the number of terminal columns.
std::size_t width(std::string_view text) {
  std::size_t columns = 0;
  std::mbstate_t state{};
  while (!text.empty()) {
    wchar_t character = 0;
    // NOLINTNEXTLINE(concurrency-mt-unsafe): the state is our own
    const std::size_t used = std::mbrtowc(&character, text.data(), text.size(), &state);
    if (used == 0 || used > text.size()) return columns + text.size();  // not UTF-8: count bytes
    columns += static_cast<std::size_t>(std::max(0, ::wcwidth(character)));
    text.remove_prefix(used);
  }
  return columns;
}

std::string padded(const std::string& text, std::size_t columns) {
  return text + std::string(columns - std::min(columns, width(text)), ' ');
}

void write_json(std::string& out, const json::value& value, std::size_t depth);

template <class Container, class Item>
void write_items(std::string& out, const Container& items, std::size_t depth, std::string_view brackets, Item item) {
  out += brackets[0];
  const char* separator = "\n";
  for (const auto& entry : items) {
    out += separator;
    out.append(2 * (depth + 1), ' ');
    item(entry);
    separator = ",\n";
  }
  if (!items.empty()) out.append(1, '\n').append(2 * depth, ' ');
  out += brackets[1];
}

void write_json(std::string& out, const json::value& value, std::size_t depth) {
  if (const auto* object = value.if_object()) {
    write_items(out, *object, depth, "{}", [&](const json::key_value_pair& entry) {
      out += json::serialize(entry.key()) + ": ";
      write_json(out, entry.value(), depth + 1);
    });
  } else if (const auto* array = value.if_array()) {
    write_items(out, *array, depth, "[]", [&](const json::value& entry) { write_json(out, entry, depth + 1); });
  } else if (const double* number = value.if_double()) {
    out += std::isfinite(*number) ? fmt::to_string(*number) : "null";  // serialize() would write 9.05E1
  } else {
    out += json::serialize(value);
  }
}

// Splits the text into lines without control characters, which could drive the terminal.
std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines(1);
  for (const char c : text) {
    if (c == '\n')
      lines.emplace_back();
    else
      lines.back() += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  }
  return lines;
}

}  // namespace

std::string printable(std::string_view text) { return fmt::format("{}", fmt::join(lines_of(text), "\n  ")); }

void print_error(std::string_view text) {
  std::fflush(stdout);
  fmt::print(stderr, "{}\n", printable(text));
}

void Table::row(const std::vector<std::string>& cells) {
  std::vector<std::vector<std::string>> columns;
  std::size_t height = 1;
  for (const std::string& cell : cells) {
    columns.push_back(lines_of(cell.empty() ? "-" : cell));
    height = std::max(height, columns.back().size());
  }
  for (std::size_t line = 0; line < height; ++line) {
    std::vector<std::string>& row = rows_.emplace_back();
    for (const auto& column : columns) row.push_back(line < column.size() ? column[line] : "");
  }
}

void Table::print(std::size_t indent) const {
  std::vector<std::size_t> widths(rows_.front().size());
  for (const auto& row : rows_)
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width(row[i]));
  for (const auto& row : rows_) {
    std::string line(indent, ' ');
    for (std::size_t i = 0; i + 1 < row.size(); ++i) line += padded(row[i], widths[i] + kGap);
    line += row.back();
    fmt::print("{}\n", line.substr(0, line.find_last_not_of(' ') + 1));
  }
}

void print_facts(std::initializer_list<std::pair<std::string_view, std::string>> facts, std::size_t indent) {
  std::size_t widest = 0;
  for (const auto& [name, value] : facts) widest = std::max(widest, name.size());
  for (const auto& [name, value] : facts)
    if (!value.empty())
      fmt::print("{}{}{}\n", std::string(indent, ' '), padded(std::string(name), widest + kGap),
                 fmt::join(lines_of(value), "\n" + std::string(indent + widest + kGap, ' ')));
}

std::string json_text(const json::value& value) {
  std::string out;
  write_json(out, value, 0);
  out += '\n';
  return out;
}

void print_json(const json::value& value) { fmt::print("{}", json_text(value)); }

json::value to_json(const pb::Message& message) {
  const std::string binary = message_bytes(message);
  const std::string host = "cardcage";
  const std::unique_ptr<pb::util::TypeResolver> types(
      pb::util::NewTypeResolverForDescriptorPool(host, message.GetDescriptor()->file()->pool()));
  pb::util::JsonPrintOptions options;
  options.always_print_primitive_fields = true;
  std::string text;
  // Cannot fail: the resolver has the type of the message.
  std::ignore = pb::util::BinaryToJsonString(types.get(), fmt::format("{}/{}", host, message.GetTypeName()), binary,
                                             &text, options);
  return json::parse(text);
}

void print_json(const pb::Message& message, std::string_view member) { print_json(to_json(message).at(member)); }

std::string to_text(const admin::v1::Condition& condition) {
  return condition.detail().empty() ? condition.state() : fmt::format("{}: {}", condition.state(), condition.detail());
}

std::string to_text(const pb::Value& value) {
  switch (value.kind_case()) {
    case pb::Value::kNumberValue: return fmt::to_string(value.number_value());
    case pb::Value::kBoolValue: return value.bool_value() ? "true" : "false";
    case pb::Value::kStringValue: return value.string_value();
    case pb::Value::kListValue: {
      std::vector<std::string> items;
      for (const auto& item : value.list_value().values()) items.push_back(to_text(item));
      return fmt::format("[{}]", fmt::join(items, ", "));
    }
    default: return "";
  }
}

std::string to_text(const admin::v1::ClaimRef& ref) {
  return ref.name().empty() ? ref.uid() : fmt::format("{}/{}", ref.namespace_(), ref.name());
}

std::string count(std::uint64_t number, std::string_view noun) {
  return fmt::format("{} {}{}", number, noun, number == 1 ? "" : "s");
}

std::string to_rfc3339(const pb::Timestamp& time) {
  if (time.seconds() == 0) return "";
  return timestamp(std::chrono::system_clock::from_time_t(time.seconds()));
}

std::int64_t to_integer(double number) {
  constexpr double kEnd = 0x1p63;
  if (number >= kEnd) return std::numeric_limits<std::int64_t>::max();
  return number < -kEnd ? std::numeric_limits<std::int64_t>::min() : static_cast<std::int64_t>(number);
}

json::value text_json(const std::string& text) {
  if (text.empty()) return nullptr;
  return json::string(text);
}

}  // namespace cardcage
