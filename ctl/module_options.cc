#include "ctl/module_options.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <optional>

#include "host/config/names.h"
#include "host/config/option_lines.h"
#include "host/core/unique_fd.h"

namespace cardcage {
namespace {

namespace json = boost::json;

bool add_member(OptionLines& lines, std::string_view name, const json::value& value) {
  if (value.is_string()) return lines.add(name, value.get_string());
  if (value.is_int64() || value.is_bool()) return lines.add(name, json::serialize(value));
  return value.is_array() && std::ranges::all_of(value.get_array(), [&](const json::value& item) {
           return !item.is_array() && add_member(lines, name, item);
         });
}

// Returns the members as a table of the configuration is read; nothing if one has no such form.
std::optional<std::string> lines_of(const json::object& object) {
  OptionLines lines;
  for (const auto& member : object)
    if (!add_member(lines, member.key(), member.value())) return std::nullopt;
  return lines.text();
}

RawOption option_of(const std::string& text) {
  boost::system::error_code failed;
  const json::value value = json::parse(text, failed);
  if (!failed && value.is_int64()) return {value.get_int64(), {}};
  if (!failed && value.is_bool()) return {value.get_bool(), {}};
  if (!failed && value.is_string()) return {std::string(value.get_string()), {}};
  if (failed || !value.is_array()) return {text, {}};
  std::vector<std::string> items;
  bool has_tables = false;
  for (const json::value& item : value.get_array()) {
    auto lines = item.is_object() ? lines_of(item.get_object()) : std::nullopt;
    if (!item.is_string() && !lines) return {text, {}};
    has_tables = has_tables || lines;
    items.push_back(lines ? std::move(*lines) : std::string(item.get_string()));
  }
  return {std::move(items), {}, has_tables};
}

// Returns an empty text if the file can be read.
std::string check_readable(const std::string& file) {
  const UniqueFd opened(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  return opened ? std::string() : fail_errno(errno, fmt::format("cannot open '{}'", file)).error().message;
}

std::string check_program(const std::string& path) {
  return std::filesystem::path(path).is_absolute() ? std::string()
                                                   : fmt::format("'{}' is not an absolute path; begin it with /", path);
}

std::string check_writes(const std::string& pattern) {
  const auto valid = check_path_pattern(pattern);
  return valid ? std::string() : valid.error().message;
}

std::string check_option(const std::string& option) {
  const std::size_t equals = option.find('=');
  return equals != 0 && equals != std::string::npos ? std::string() : fmt::format("'{}' is not KEY=VALUE", option);
}

}  // namespace

void add_module_options(CLI::App& command, std::vector<std::string>& written) {
  command
      .add_option("--option", written,
                  "an option of the module; the value as in TOML, strings without quotes, "
                  "tables as in JSON")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false)
      ->check(check_option);
}

std::map<std::string, RawOption> module_options(const std::vector<std::string>& written) {
  std::map<std::string, RawOption> options;
  for (const std::string& option : written) {
    const std::size_t equals = option.find('=');
    options[option.substr(0, equals)] = option_of(option.substr(equals + 1));
  }
  return options;
}

std::string check_driver(const std::string& name) {
  const auto valid = check_driver_name(name);
  return valid ? std::string() : valid.error().message;
}

void add_module_file(CLI::App& command, ModuleFile& module) {
  command.add_option("FILE", module.file, "the shared object")->required()->check(check_readable);
  add_module_options(command, module.options);
  command
      .add_option("--program", module.programs,
                  "a program that the module may run, as in the key programs of its configuration")
      ->type_name("PATH")
      ->allow_extra_args(false)
      ->check(check_program);
  command
      .add_option("--write", module.writes,
                  "files that the module may write to, as in the key writes of its configuration")
      ->type_name("PATTERN")
      ->allow_extra_args(false)
      ->check(check_writes);
}

}  // namespace cardcage
