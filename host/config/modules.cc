// [[module]] blocks: the file to load, its options, its permissions and its rules.
#include <algorithm>

#include "host/config/fields.h"
#include "host/config/names.h"
#include "host/config/option_lines.h"
#include "host/config/sections.h"
#include "host/core/ascii.h"
#include "host/model/text_rules.h"

namespace cardcage {
namespace {

constexpr std::int64_t kMaxGroup = 0xffff'fffe;
constexpr std::size_t kQuotedMember = 80;

Status check_mount(std::string_view pattern) {
  if (pattern.ends_with(":rw")) pattern.remove_suffix(3);
  return check_path_pattern(pattern);
}

Status check_interface(std::string_view pattern) {
  if (is_interface_name(pattern)) return {};
  return fail(Code::kInvalidArgument, "'{}' is not the name of a network interface; write one like \"ens1f0v*\"",
              pattern);
}

Status check_variable(std::string_view name) {
  if (is_env_name(name)) return {};
  return fail(Code::kInvalidArgument, "'{}' is not the name of an environment variable", name);
}

void read_groups(TableReader& table, std::string_view key, std::vector<std::uint32_t>& groups) {
  for (const auto& group : table.integers(key)) {
    if (group.value < 1 || group.value > kMaxGroup)
      table.refuse(key, group.position,
                   fmt::format("{} is out of bounds; write the number of a group, 1 to {}", group.value, kMaxGroup));
    else
      groups.push_back(static_cast<std::uint32_t>(group.value));
  }
}

bool add_member(OptionLines& lines, std::string_view name, const toml::node& value) {
  if (const auto* text = value.as_string()) return lines.add(name, text->get());
  if (const auto* number = value.as_integer()) return lines.add(name, fmt::format("{}", number->get()));
  if (const auto* flag = value.as_boolean()) return lines.add(name, fmt::format("{}", flag->get()));
  const auto* const items = value.as_array();
  return items != nullptr && std::ranges::all_of(*items, [&](const toml::node& item) {
           return !item.is_array() && add_member(lines, name, item);
         });
}

std::optional<std::string> lines_of(const std::string& key, const toml::table& table, TableReader& options) {
  OptionLines lines;
  for (const auto& [member, value] : table) {
    if (add_member(lines, member.str(), value)) continue;
    options.refuse(
        key, options.reading().at(value.source()),
        fmt::format("member '{}' of its table must be one line of text, an integer, a boolean, or a list of these",
                    printable(member.str(), kQuotedMember)));
    return std::nullopt;
  }
  return lines.text();
}

std::optional<RawOption> read_option(const std::string& key, const toml::node& node, TableReader& options) {
  RawOption option{{}, {options.reading().at(node.source())}};
  if (const auto* text = node.as_string()) {
    option.value = text->get();
  } else if (const auto* number = node.as_integer()) {
    option.value = number->get();
  } else if (const auto* flag = node.as_boolean()) {
    option.value = flag->get();
  } else if (const auto* list = node.as_array()) {
    std::vector<std::string> items;
    for (const toml::node& item : *list) {
      if (const auto* part = item.as_string()) {
        items.push_back(part->get());
      } else if (const auto* table = item.as_table()) {
        auto lines = lines_of(key, *table, options);
        if (!lines) return std::nullopt;
        items.push_back(std::move(*lines));
        option.has_tables = true;
      } else {
        options.refuse(key, options.reading().at(item.source()),
                       "expected a list of strings, found " + describe_value(item) + " in it");
        return std::nullopt;
      }
    }
    option.value = std::move(items);
  } else {
    options.refuse(key, option.position,
                   "expected a string, an integer, a boolean or a list of strings, found " + describe_value(node));
    return std::nullopt;
  }
  return option;
}

// Reads the options of a module, whose names only the module knows.
struct Options {
  using Values = std::map<std::string, RawOption>;
  void operator()(TableReader& parent, std::string_view key, Values& values) const {
    TableReader table = parent.table(key);
    if (!table.raw()) return;
    for (const auto& [option_key, node] : *table.raw()) {
      const std::string name(option_key.str());
      if (auto option = read_option(name, node, table)) values.emplace(name, std::move(*option));
    }
  }
  std::vector<std::string> changed(const Values& before, const Values& after) const {
    std::set<std::string> names;
    for (const auto& [name, option] : before)
      if (const auto same = after.find(name); same == after.end() || !(same->second == option)) names.insert(name);
    for (const auto& [name, option] : after)
      if (!before.contains(name)) names.insert(name);
    return {names.begin(), names.end()};
  }
};

void read_path(TableReader& table, std::string_view key, std::filesystem::path& path) {
  if (const auto text = table.expanded(key))
    table.store(key, text->position, path_below(text->value), path, "; write a path below node.modules_dir");
}

void read_sha256(TableReader& table, std::string_view key, std::string& sha256) {
  const auto text = table.string(key);
  if (!text || text->value.empty()) return;
  sha256 = text->value;
  std::ranges::transform(sha256, sha256.begin(), to_lower);
  if (sha256.size() != 64 || !std::ranges::all_of(sha256, is_lower_hex))
    table.refuse(
        key, text->position,
        fmt::format("'{}' is not a SHA-256; write 64 hexadecimal digits, as sha256sum prints them", text->value));
}

void read_programs(TableReader& table, std::string_view key, std::vector<std::filesystem::path>& programs) {
  for (const auto& text : table.strings(key)) {
    const std::filesystem::path path(text.value);
    const auto same_name = [&](const auto& other) { return other.filename() == path.filename(); };
    if (!path.is_absolute() || !path.has_filename())
      table.refuse(key, text.position,
                   fmt::format("'{}' is not the absolute path of a program, like \"/usr/bin/nvidia-smi\"", text.value));
    else if (std::ranges::any_of(programs, same_name))
      table.refuse(key, text.position,
                   fmt::format("there are two programs named '{}'; the module could not choose: remove one",
                               path.filename().native()));
    else
      programs.push_back(path);
  }
}

constexpr std::pair<std::string_view, Isolation> kIsolations[] = {{"in-process", Isolation::kInProcess},
                                                                  {"process", Isolation::kProcess}};

// The edits that a module may give; a confined module may give none that its list does not name.
constexpr std::tuple kEditKeys{
    field<&ModuleConfig::allows, &AllowedEdits::device_nodes>("device_nodes", optional_list(texts(check_path_pattern))),
    field<&ModuleConfig::allows, &AllowedEdits::mounts>("mounts", optional_list(texts(check_mount))),
    field<&ModuleConfig::allows, &AllowedEdits::hooks>("hooks", optional_list(texts(check_path_pattern))),
    field<&ModuleConfig::allows, &AllowedEdits::net_devices>("net_devices", optional_list(texts(check_interface))),
    field<&ModuleConfig::allows, &AllowedEdits::groups>("groups", optional_list(read_groups)),
    field<&ModuleConfig::allows, &AllowedEdits::env>("env", optional_list(texts(check_variable)))};

// A change of these keys needs a new instance.
constexpr auto kInstanceKeys = std::tuple_cat(
    std::tuple{
        field<&ModuleConfig::name>("name", required(text(check_label), "write a name of your choice, like \"gpu\"")),
        field<&ModuleConfig::path>("path", required(read_path, "write the file's name, like \"libcardcage_mock.so\"")),
        field<&ModuleConfig::isolation>("isolation", one_of(kIsolations)),
        field<&ModuleConfig::process>("process", read_process), field<&ModuleConfig::sha256>("sha256", read_sha256),
        field<&ModuleConfig::programs>("programs", read_programs),
        field<&ModuleConfig::writes>("writes", texts(check_path_pattern))},
    kEditKeys, std::tuple{field<&ModuleConfig::options>("options", Options{})});

// No instance sees these keys; a change takes effect at once.
constexpr std::tuple kRuleKeys{
    field<&ModuleConfig::health>("health", read_health),
    field<&ModuleConfig::attributes>("attribute", list_of(read_attribute)),
    field<&ModuleConfig::serve>(
        "serve",
        required(list_of(read_serve), "write [[module.serve]] to say which driver or resource offers the devices"))};

}  // namespace

ModuleConfig read_module(TableReader table) {
  ModuleConfig module;
  module.position = {table.position()};
  read_fields(table, module, kInstanceKeys);
  read_fields(table, module, kRuleKeys);
  table.refuse_unknown_keys();
  return module;
}

std::vector<std::string> changed_module_keys(const ModuleConfig& before, const ModuleConfig& after) {
  auto changed = changed_keys(before, after, kInstanceKeys);
  std::ranges::move(changed_keys(before, after, kRuleKeys), std::back_inserter(changed));
  return changed;
}

bool same_instance(const ModuleConfig& a, const ModuleConfig& b) { return changed_keys(a, b, kInstanceKeys).empty(); }

void copy_rules(const ModuleConfig& from, ModuleConfig& to) {
  copy_fields(from, to, kRuleKeys);
  to.position = from.position;
}

AllowedEdits allowed_edits(const ModuleConfig& module) {
  ModuleConfig allowed{.allows = module.allows};
  if (module.process.confines())
    for_each_field(kEditKeys, [&](const auto& field) {
      if (auto& list = field.in(allowed); !list) list.emplace();
    });
  return allowed.allows;
}

}  // namespace cardcage
