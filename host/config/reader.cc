#include "host/config/reader.h"

#include <algorithm>

#include "host/core/ascii.h"
#include "host/core/duration.h"
#include "host/core/nearest.h"
#include "host/core/utf8.h"

namespace cardcage {
namespace {

constexpr std::size_t kMaxMessage = 600;

std::string one_line(std::string_view text) {
  std::string line;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f)
      line += fmt::format("\\x{:02x}", byte);
    else
      line += c;
  }
  return cut_utf8(line, kMaxMessage);
}

bool starts_name(char c) { return c == '_' || is_letter(c); }
bool continues_name(char c) { return starts_name(c) || is_digit(c); }

// The name of the variable after a '$', and the number of bytes to skip; nothing if no name follows.
std::optional<std::pair<std::string, std::size_t>> variable_name(std::string_view after_dollar) {
  const bool braces = after_dollar.starts_with('{');
  const std::string_view rest = after_dollar.substr(braces ? 1 : 0);
  if (rest.empty() || !starts_name(rest.front())) return std::nullopt;
  const auto end = static_cast<std::size_t>(std::ranges::find_if_not(rest, continues_name) - rest.begin());
  if (braces && !rest.substr(end).starts_with('}')) return std::nullopt;
  return std::pair(std::string(rest.substr(0, end)), end + (braces ? 2 : 0));
}

}  // namespace

void Reading::note(ConfigErrors::Entry entry) {
  entry.message = one_line(entry.message);
  errors_.entries.push_back(std::move(entry));
}

ConfigErrors Reading::take_errors() {
  std::ranges::stable_sort(errors_.entries, {}, [](const ConfigErrors::Entry& entry) {
    return std::pair(entry.position.line, entry.position.column);
  });
  return std::move(errors_);
}

std::string describe_value(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::string: return "a string";
    case toml::node_type::integer: return fmt::format("the integer {}", node.as_integer()->get());
    case toml::node_type::floating_point: return "a floating-point number";
    case toml::node_type::boolean: return node.as_boolean()->get() ? "the boolean true" : "the boolean false";
    case toml::node_type::array: return "a list";
    case toml::node_type::table: return "a table";
    case toml::node_type::date:
    case toml::node_type::time:
    case toml::node_type::date_time: return "a date or time";
    case toml::node_type::none: break;
  }
  return "nothing";
}

Result<std::string> expand_environment(std::string_view text, const Environment& environment) {
  std::string expanded;
  while (!text.empty()) {
    const std::size_t dollar = std::min(text.find('$'), text.size());
    expanded += text.substr(0, dollar);
    text.remove_prefix(dollar);
    if (text.empty()) break;
    text.remove_prefix(1);
    if (text.starts_with('$')) {
      expanded += '$';
      text.remove_prefix(1);
      continue;
    }
    const auto variable = variable_name(text);
    if (!variable)
      return fail(Code::kInvalidArgument,
                  "'$' is not followed by a variable; write $NAME or ${{NAME}}, or $$ for a dollar sign");
    const auto value = environment(variable->first);
    if (!value) return fail(Code::kNotFound, "the environment variable '{}' is not set", variable->first);
    expanded += *value;
    text.remove_prefix(variable->second);
  }
  return expanded;
}

std::string TableReader::name_of(std::string_view key) const {
  return path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key);
}

const toml::node* TableReader::find(std::string_view key) {
  known_keys_.emplace_back(key);
  reading_.add_known_key(name_of(key));
  return table_ ? table_->get(key) : nullptr;
}

template <class T>
std::optional<Placed<T>> TableReader::value(std::string_view key, std::string_view expected) {
  const toml::node* node = find(key);
  if (!node) return std::nullopt;
  if (const auto* value = node->as<T>()) return Placed{value->get(), reading_.at(node->source())};
  refuse(key, reading_.at(node->source()), fmt::format("expected {}, found {}", expected, describe_value(*node)));
  return std::nullopt;
}

std::optional<Placed<std::string>> TableReader::string(std::string_view key) {
  return value<std::string>(key, "a string");
}

std::optional<Placed<std::string>> TableReader::expanded(std::string_view key) {
  const auto text = string(key);
  return text ? expand(key, *text) : std::nullopt;
}

std::optional<Placed<std::string>> TableReader::expand(std::string_view key, const Placed<std::string>& text) {
  auto value = expand_environment(text.value, reading_.environment());
  if (value) return Placed{std::move(*value), text.position};
  refuse(key, text.position, fmt::format("{}, in '{}'", value.error().message, text.value));
  return std::nullopt;
}

std::optional<Placed<std::chrono::milliseconds>> TableReader::duration(std::string_view key,
                                                                       std::chrono::milliseconds least,
                                                                       std::chrono::milliseconds most) {
  const toml::node* node = find(key);
  if (!node) return std::nullopt;
  const auto position = reading_.at(node->source());
  const auto* text = node->as_string();
  if (!text) {
    refuse(key, position, "expected a duration like \"30s\", found " + describe_value(*node));
    return std::nullopt;
  }
  const auto parsed = parse_duration(text->get());
  if (!parsed) {
    refuse(key, position, parsed.error().message);
    return std::nullopt;
  }
  const Placed given{std::chrono::ceil<std::chrono::milliseconds>(*parsed), position};
  if (given.value < least || given.value > most)
    refuse(key, position,
           fmt::format("{} is out of bounds; write a duration from {} to {}", format_duration(given.value),
                       format_duration(least), format_duration(most)));
  return given;
}

std::optional<Placed<std::int64_t>> TableReader::integer(std::string_view key) {
  return value<std::int64_t>(key, "an integer");
}

std::optional<Placed<bool>> TableReader::boolean(std::string_view key) { return value<bool>(key, "true or false"); }

std::optional<std::uint32_t> TableReader::count(std::string_view key, std::uint32_t least, std::uint32_t most) {
  const auto number = integer(key);
  if (!number) return std::nullopt;
  if (number->value >= least && number->value <= most) return static_cast<std::uint32_t>(number->value);
  refuse(key, number->position, fmt::format("{} is out of bounds; write {} to {}", number->value, least, most));
  return std::nullopt;
}

template <class T>
std::vector<Placed<T>> TableReader::list(std::string_view key, std::string_view item, std::string_view items) {
  std::vector<Placed<T>> values;
  const toml::node* node = find(key);
  if (!node) return values;
  const toml::array* list = node->as_array();
  if (!list)
    refuse(key, reading_.at(node->source()),
           fmt::format("expected a list of {}, found {}", items, describe_value(*node)));
  if (!list) return values;
  for (const toml::node& element : *list) {
    if (const auto* value = element.as<T>())
      values.push_back({value->get(), reading_.at(element.source())});
    else
      refuse(key, reading_.at(element.source()), fmt::format("expected {}, found {}", item, describe_value(element)));
  }
  return values;
}

std::vector<Placed<std::string>> TableReader::strings(std::string_view key) {
  return list<std::string>(key, "a string", "strings");
}

std::vector<Placed<std::string>> TableReader::expanded_list(std::string_view key) {
  const toml::node* node = find(key);
  const auto texts = node && node->is_string() ? std::vector{*string(key)}
                                               : list<std::string>(key, "a string", "strings, or a string");
  if (node && node->is_array() && node->as_array()->empty())
    refuse(key, reading_.at(node->source()), "the list is empty; leave the key out for the default");
  std::vector<Placed<std::string>> values;
  for (const auto& text : texts)
    if (auto value = expand(key, text)) values.push_back(std::move(*value));
  return values;
}

std::vector<Placed<std::int64_t>> TableReader::integers(std::string_view key) {
  return list<std::int64_t>(key, "an integer", "integers");
}

void TableReader::refuse_choice(std::string_view key, const Placed<std::string>& text,
                                const std::vector<std::string>& known) {
  reading_.error(text.position, "{}: '{}' is not one of '{}'{}", name_of(key), text.value, fmt::join(known, "', '"),
                 nearest_hint(text.value, known));
}

TableReader TableReader::table(std::string_view key) {
  const toml::node* node = find(key);
  if (!node) return {reading_, nullptr, name_of(key), position_};
  const auto position = reading_.at(node->source());
  if (!node->is_table())
    reading_.error(position, "{0}: expected a table, found {1}; write [{0}]", name_of(key), describe_value(*node));
  return {reading_, node->as_table(), name_of(key), position};
}

std::vector<TableReader> TableReader::tables(std::string_view key) {
  std::vector<TableReader> found;
  const toml::node* node = find(key);
  if (!node) return found;
  const std::string name = name_of(key);
  const toml::array* array = node->as_array();
  if (!array) {
    reading_.error(reading_.at(node->source()), "{0}: expected a list of tables, found {1}; write [[{0}]]", name,
                   describe_value(*node));
    return found;
  }
  for (const toml::node& item : *array) {
    const auto position = reading_.at(item.source());
    if (item.is_table())
      found.emplace_back(reading_, item.as_table(), name, position);
    else
      reading_.error(position, "{0}: expected a table, found {1}; write [[{0}]]", name, describe_value(item));
  }
  return found;
}

void TableReader::refuse_unknown_keys() {
  if (!table_) return;
  for (const auto& [key, value] : *table_) {
    const std::string_view word = key.str();
    if (std::ranges::find(known_keys_, word) != known_keys_.end()) continue;
    reading_.error(reading_.at(key.source()), "unknown key '{}'{}{}", word,
                   path_.empty() ? std::string() : fmt::format(" in [{}]", path_), nearest_hint(word, known_keys_));
  }
}

}  // namespace cardcage
