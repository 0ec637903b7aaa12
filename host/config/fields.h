// A section of the configuration is one list of fields. The reader, the plan and everything else that concerns all keys
// walk these lists, so a key is declared in one place.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include "host/config/reader.h"

namespace cardcage {

// A key and the member that holds its value, at the end of Path. `read` gets the table, the key and the member, and
// also the whole section if it takes it; the section has the values of the fields before this one.
template <class Read, auto... Path>
struct Field {
  std::string_view key;
  Read read;
  static auto& in(auto& section) { return (section.*....*Path); }
};

template <auto... Path, class Read>
constexpr Field<Read, Path...> field(std::string_view key, Read read) {
  return {key, read};
}

template <class... Fields>
void for_each_field(const std::tuple<Fields...>& fields, const auto& act) {
  std::apply([&](const Fields&... field) { (act(field), ...); }, fields);
}

template <class Section>
void read_fields(TableReader& table, Section& section, const auto& fields) {
  for_each_field(fields, [&](const auto& field) {
    auto& value = field.in(section);
    if constexpr (std::is_invocable_v<decltype(field.read), TableReader&, std::string_view, decltype(value)>)
      field.read(table, field.key, value);
    else
      field.read(table, field.key, value, section);
  });
}

// Returns the keys whose values differ. A reader of a table may name the keys in it.
template <class Section>
std::vector<std::string> changed_keys(const Section& before, const Section& after, const auto& fields) {
  std::vector<std::string> changed;
  for_each_field(fields, [&](const auto& field) {
    const auto &old_value = field.in(before), &new_value = field.in(after);
    if constexpr (requires { field.read.changed(old_value, new_value); }) {
      for (const std::string& key : field.read.changed(old_value, new_value))
        changed.push_back(fmt::format("{}.{}", field.key, key));
    } else if (!(old_value == new_value)) {
      changed.emplace_back(field.key);
    }
  });
  return changed;
}

template <class Section>
void copy_fields(const Section& from, Section& to, const auto& fields) {
  for_each_field(fields, [&](const auto& field) { field.in(to) = field.in(from); });
}

// Reads a table with the fields of a list.
template <class Fields>
struct Table {
  Fields fields;
  void operator()(TableReader& parent, std::string_view key, auto& section) const {
    TableReader table = parent.table(key);
    read_fields(table, section, fields);
    table.refuse_unknown_keys();
  }
  std::vector<std::string> changed(const auto& before, const auto& after) const {
    return changed_keys(before, after, fields);
  }
};

// Readers of common kinds of values. Each leaves the value as it is if the key is missing.
template <class T, std::size_t N>
constexpr auto one_of(const std::pair<std::string_view, T> (&words)[N]) {
  return [&words](TableReader& table, std::string_view key, T& value) {
    value = table.choice(key, words).value_or(value);
  };
}

constexpr auto between(std::chrono::milliseconds least, std::chrono::milliseconds most) {
  return [=](TableReader& table, std::string_view key, std::chrono::milliseconds& value) {
    if (const auto given = table.duration(key, least, most)) value = given->value;
  };
}

using Check = Status (*)(std::string_view);

// Stores a text, and reports one that `check` refuses.
inline void store_checked(TableReader& table, std::string_view key, std::optional<Placed<std::string>> text,
                          Check check, std::string& value) {
  if (!text) return;
  if (const auto valid = check(text->value); !valid) table.refuse(key, text->position, valid.error().message);
  value = std::move(text->value);
}

constexpr auto text(Check check) {
  return [=](TableReader& table, std::string_view key, std::string& value) {
    store_checked(table, key, table.string(key), check, value);
  };
}

// Reads a text with environment variables.
constexpr auto expanded(Check check) {
  return [=](TableReader& table, std::string_view key, std::string& value) {
    store_checked(table, key, table.expanded(key), check, value);
  };
}

// `remedy` tells the user what to write if the key is missing.
constexpr auto required(auto read, std::string_view remedy) {
  return [=](TableReader& table, std::string_view key, auto& value) {
    if (!table.has(key)) table.refuse(key, table.position(), fmt::format("missing; {}", remedy));
    read(table, key, value);
  };
}

// Reads a list of texts, each of which `check` accepts.
constexpr auto texts(Check check) {
  return [=](TableReader& table, std::string_view key, std::vector<std::string>& values) {
    for (auto& given : table.strings(key)) store_checked(table, key, std::move(given), check, values.emplace_back());
  };
}

// Reads a list of tables.
constexpr auto list_of(auto read) {
  return [=](TableReader& parent, std::string_view key, auto& values) {
    for (TableReader& table : parent.tables(key)) values.push_back(read(std::move(table)));
  };
}

// Reads a list that differs from a missing one even if it is empty.
constexpr auto optional_list(auto read) {
  return [=](TableReader& table, std::string_view key, auto& list) {
    read(table, key, list.emplace());
    if (!table.has(key)) list.reset();
  };
}

}  // namespace cardcage
