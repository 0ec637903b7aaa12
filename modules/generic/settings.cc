#include "modules/generic/settings.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <sstream>

#include "modules/common/text.h"

namespace cardcage::generic {
namespace {

constexpr std::size_t kMaxPath = 256, kMaxLabel = 40, kUsbId = 4;
constexpr std::uint32_t kMaxMode = 0777;

bool is_alphanumeric(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

// Leaves room in a name of 63 characters for what tells its devices apart.
bool is_short_label(std::string_view text) {
  return !text.empty() && text.size() <= kMaxLabel && text.front() != '-' && text.back() != '-' &&
         std::ranges::all_of(text, [](char c) { return (is_alphanumeric(c) || c == '-') && std::isupper(c) == 0; });
}

bool is_variable(std::string_view name) {
  return !name.empty() && std::isdigit(static_cast<unsigned char>(name.front())) == 0 &&
         std::ranges::all_of(name, [](char c) { return is_alphanumeric(c) || c == '_'; });
}

// Returns whether no component of an absolute path is empty, "." or "..".
bool is_plain(std::string_view path) {
  if (!path.starts_with('/') || path.size() > kMaxPath) return false;
  for (std::size_t start = 1; start <= path.size();) {
    const std::size_t end = std::min(path.find('/', start), path.size());
    const std::string_view part = path.substr(start, end - start);
    if (part.empty() || part == "." || part == "..") return false;
    start = end + 1;
  }
  return true;
}

std::pair<std::string, std::string> split(const std::string& text, char at) {
  const std::size_t place = text.find(at);
  if (place == std::string::npos) return {text, {}};
  return {text.substr(0, place), text.substr(place + 1)};
}

// The members of a table. Each is taken once.
class Members {
 public:
  Members(std::string_view table, std::size_t index) : subject_("devices[" + std::to_string(index) + "]") {
    if (!table.empty() && !table.ends_with('\n'))
      refuse("", "it is text; write a table: [[module.options.devices]] with name = \"fuse\", paths = [\"/dev/fuse\"]");
    std::istringstream lines{std::string(table)};
    for (std::string line; std::getline(lines, line);) {
      auto [name, value] = split(line, '=');
      members_[name].push_back(std::move(value));
    }
  }

  void add_to_subject(const std::string& name) { subject_ += " '" + name + "'"; }
  std::vector<std::string> list(const std::string& name) {
    auto node = members_.extract(name);
    return node.empty() ? std::vector<std::string>() : std::move(node.mapped());
  }
  std::string text(const std::string& name, std::string initial = {}) {
    auto values = list(name);
    if (values.size() > 1) refuse(name, "it is a list; write one value");
    return values.empty() ? std::move(initial) : std::move(values.front());
  }
  bool flag(const std::string& name) {
    const std::string given = text(name, "false");
    if (given != "true" && given != "false") refuse(name, "'" + given + "' is neither true nor false");
    return given == "true";
  }
  std::int64_t number(const std::string& name, std::int64_t initial, std::int64_t most, int base = 10) {
    const std::string given = text(name);
    if (given.empty()) return initial;
    const auto number = hardware::number_of<std::int64_t>(given, base);
    if (!number || *number < 1 || *number > most)
      refuse(name, base == 8 ? "'" + given + "' is not the mode of a file; write it like \"0660\""
                             : "it is " + given + ", expected 1 to " + std::to_string(most));
    return *number;
  }
  Pairs pairs(const std::string& name) {
    Pairs all;
    for (const std::string& item : list(name)) all.push_back(split(item, '='));
    return all;
  }
  // Must be called last: refuses members that were not taken.
  void finish() const {
    if (!members_.empty())
      refuse(members_.begin()->first,
             "there is no such key; the keys are name, paths, together, count, permissions, mount_path, mode, env, "
             "subsystem, usb, serial, properties, block and unsafe");
  }
  [[noreturn]] void refuse(const std::string& name, const std::string& reason) const {
    throw cage::Error(CAGE_INVALID_ARGUMENT, subject_ + (name.empty() ? "" : ": " + name) + ": " + reason);
  }

 private:
  std::string subject_;
  std::map<std::string, std::vector<std::string>> members_;
};

void check_paths(const Entry& entry, const Members& members) {
  if (entry.paths.empty()) members.refuse("paths", "it is missing; write patterns like [\"/dev/ttyUSB*\"]");
  for (const std::string& path : entry.paths)
    if (!path.starts_with("/dev/") || !is_plain(path))
      members.refuse("paths", "'" + path + "' is not a path below /dev; write one like \"/dev/ttyUSB*\"");
}

void check_mount_path(const Entry& entry, const Members& members) {
  std::string_view path = entry.mount_path;
  if (path.empty()) return;
  const bool is_folder = path.ends_with('/');
  if (is_folder) path.remove_suffix(1);
  if (!is_plain(path)) members.refuse("mount_path", "'" + entry.mount_path + "' is not an absolute path");
  if (entry.together && !is_folder && (entry.paths.size() > 1 || has_wildcard(entry.paths.front())))
    members.refuse("mount_path", "a device of several nodes needs a folder; write '" + entry.mount_path + "/'");
}

std::string usb_id(const std::string& text, const Members& members) {
  std::string id = text;
  std::ranges::transform(id, id.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const auto is_digit = [](unsigned char c) { return std::isxdigit(c) != 0; };
  if (id != "*" && (id.size() != kUsbId || !std::ranges::all_of(id, is_digit)))
    members.refuse("usb", "'" + text +
                              "' is not four hexadecimal digits or '*'; write the ids as lsusb does: "
                              "\"0403:6001\"");
  return id;
}

void read_selectors(Entry& entry, Members& members) {
  entry.subsystem = members.text("subsystem");
  entry.serial = members.text("serial");
  if (const std::string usb = members.text("usb"); !usb.empty()) {
    const auto [vendor, product] = split(usb, ':');
    entry.usb_vendor = usb_id(vendor, members);
    entry.usb_product = usb_id(product, members);
  }
  entry.properties = members.pairs("properties");
  for (const auto& [name, pattern] : entry.properties)
    if (name.empty() || pattern.empty())
      members.refuse("properties", "'" + name + "' is not NAME=PATTERN; write it like \"ID_MODEL=C920*\"");
}

void read_container_settings(Entry& entry, Members& members) {
  entry.permissions = members.text("permissions", "rw");
  const auto is_allowed = [&](char c) {
    return std::string_view("rwm").find(c) != std::string_view::npos && std::ranges::count(entry.permissions, c) == 1;
  };
  if (entry.permissions.empty() || !std::ranges::all_of(entry.permissions, is_allowed))
    members.refuse("permissions", "'" + entry.permissions + "' is not made of the letters r, w and m");
  entry.mount_path = members.text("mount_path");
  entry.mode = static_cast<std::uint32_t>(members.number("mode", 0, kMaxMode, 8));
  entry.env = members.pairs("env");
  for (const auto& [name, value] : entry.env)
    if (!is_variable(name)) members.refuse("env", "'" + name + "' is not the name of a variable; write NAME=VALUE");
}

Entry read_entry(std::string_view table, std::size_t index) {
  Members members(table, index);
  Entry entry;
  entry.name = members.text("name");
  if (!is_short_label(entry.name))
    members.refuse("name", "'" + entry.name +
                               "' is not 1 to 40 lower-case letters, digits and '-'; write one like "
                               "\"fuse\"");
  members.add_to_subject(entry.name);
  entry.paths = members.list("paths");
  entry.together = members.flag("together");
  entry.count = members.number("count", 1, kMaxCount);
  read_container_settings(entry, members);
  read_selectors(entry, members);
  entry.block = members.flag("block");
  entry.unsafe = members.flag("unsafe");
  check_paths(entry, members);
  check_mount_path(entry, members);
  members.finish();
  return entry;
}

}  // namespace

bool has_wildcard(std::string_view pattern) { return pattern.find_first_of("*?[") != std::string_view::npos; }

std::vector<Entry> read_entries(const std::vector<std::string_view>& tables) {
  std::vector<Entry> entries;
  for (const std::string_view table : tables) {
    Entry entry = read_entry(table, entries.size());
    if (std::ranges::find(entries, entry.name, &Entry::name) != entries.end())
      throw cage::Error(CAGE_INVALID_ARGUMENT, "devices: two entries have the name '" + entry.name +
                                                   "'; put their paths into one, or rename one");
    entries.push_back(std::move(entry));
  }
  return entries;
}

}  // namespace cardcage::generic
