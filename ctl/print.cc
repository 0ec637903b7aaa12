#include "ctl/print.h"

#include <fmt/chrono.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <cmath>
#include <cstdio>
#include <cwchar>

namespace cardcage {
namespace {

namespace json = boost::json;

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

json::value level_json(admin::v1::Level level) {
  switch (level) {
    case admin::v1::LEVEL_GOOD: return json::string("good");
    case admin::v1::LEVEL_IN_PROGRESS: return json::string("in progress");
    case admin::v1::LEVEL_BAD: return json::string("bad");
    default: return nullptr;  // none, or known only to a newer daemon
  }
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

void print_json(const json::value& value) {
  std::string out;
  write_json(out, value, 0);
  fmt::print("{}\n", out);
}

std::string to_text(const admin::v1::Condition& condition) {
  return condition.detail().empty() ? condition.state() : fmt::format("{}: {}", condition.state(), condition.detail());
}

std::string to_text(const admin::v1::Value& value) {
  switch (value.kind_case()) {
    case admin::v1::Value::kInteger: return fmt::to_string(value.integer());
    case admin::v1::Value::kBoolean: return value.boolean() ? "true" : "false";
    case admin::v1::Value::kText: return value.text();
    case admin::v1::Value::kVersion: return value.version();
    case admin::v1::Value::kList: {
      std::vector<std::string> items;
      for (const auto& item : value.list().items()) items.push_back(to_text(item));
      return fmt::format("[{}]", fmt::join(items, ", "));
    }
    case admin::v1::Value::KIND_NOT_SET: break;
  }
  return "";
}

std::string to_text(const admin::v1::ClaimRef& ref) {
  return ref.name().empty() ? ref.uid() : fmt::format("{}/{}", ref.namespace_(), ref.name());
}

std::string count(std::uint64_t number, std::string_view noun) {
  return fmt::format("{} {}{}", number, noun, number == 1 ? "" : "s");
}

json::value to_json(const admin::v1::Condition& condition) {
  return {{"state", condition.state()}, {"detail", condition.detail()}, {"level", level_json(condition.level())}};
}

json::value to_json(const admin::v1::Value& value) {
  switch (value.kind_case()) {
    case admin::v1::Value::kInteger: return value.integer();
    case admin::v1::Value::kBoolean: return value.boolean();
    case admin::v1::Value::kText: return json::string(value.text());
    case admin::v1::Value::kVersion: return json::string(value.version());
    case admin::v1::Value::kList: {
      json::array items;
      for (const auto& item : value.list().items()) items.push_back(to_json(item));
      return items;
    }
    case admin::v1::Value::KIND_NOT_SET: break;
  }
  return nullptr;
}

json::value to_json(const admin::v1::ClaimRef& ref) {
  return {{"namespace", ref.namespace_()}, {"name", ref.name()}, {"uid", ref.uid()}};
}

std::string to_rfc3339(std::int64_t milliseconds) {
  if (milliseconds == 0) return "";
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(static_cast<std::time_t>(milliseconds / 1000)));
}

json::value time_json(std::int64_t milliseconds) { return text_json(to_rfc3339(milliseconds)); }

json::value text_json(const std::string& text) {
  if (text.empty()) return nullptr;
  return json::string(text);
}

}  // namespace cardcage
