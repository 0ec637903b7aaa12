#include <fmt/format.h>

#include <algorithm>

#include "ctl/import/config_map.h"
#include "ctl/import/device_entries.h"
#include "ctl/import/device_nodes.h"
#include "host/config/names.h"
#include "host/core/ascii.h"

namespace cardcage {
namespace {

// One group of a device of generic-device-plugin.
class Group {
 public:
  Group(SettingMap group, std::string name, DeviceEntries& draft)
      : group_(std::move(group)), name_(std::move(name)), draft_(draft) {}

  // Returns the kinds of its devices.
  std::vector<std::string> read() {
    std::vector<SettingMap> paths = group_.maps("paths"), usb = group_.maps("usb");
    count_ = checked_count(group_.integer("count"), group_.record());
    std::vector<std::string> kinds;
    if (!paths.empty()) read_paths(paths, kinds);
    for (SettingMap& device : usb) read_usb(std::move(device), kinds);
    group_.finish();
    return kinds;
  }
  std::int64_t count() const { return count_; }

 private:
  void read_paths(std::vector<SettingMap>& paths, std::vector<std::string>& kinds) {
    DeviceEntry entry{.name = name_, .together = paths.size() > 1};
    std::string permissions, mount_path;
    for (SettingMap& path : paths) read_path(std::move(path), entry, permissions, mount_path, paths.size() == 1);
    if (entry.paths.empty()) return;
    if (!permissions.empty()) entry.more.push_back(fmt::format("permissions = {}", toml_string(permissions)));
    if (!mount_path.empty()) entry.more.push_back(fmt::format("mount_path = {}", toml_string(mount_path)));
    kinds.push_back(draft_.add(std::move(entry), group_.path() + "paths"));
  }

  void read_path(SettingMap path, DeviceEntry& entry, std::string& permissions, std::string& mount_path,
                 bool is_alone) {
    ImportRecord& record = path.record();
    const GivenText given = path.text("path"), type = path.choice("type", {"", "Device", "Mount"});
    if (const GivenText letters = path.text("permissions")) {
      permissions = letters->value;
      record.say(Fate::kTranslated, *letters);
    }
    if (const GivenText place = path.text("mountPath")) {
      if (is_alone) mount_path = place->value;
      record.say(is_alone ? Fate::kTranslated : Fate::kNoCounterpart, *place,
                 is_alone ? "" : "the nodes of a group have their own paths, or all one folder (mount_path)");
    }
    if (const auto limit = path.integer("limit"))
      record.say(Fate::kNoCounterpart, *limit, "all nodes of the group are one device; write an entry for each pair");
    path.lose_if_on("readOnly", "it is for mounts alone; write permissions = \"r\" for a node");
    path.finish();
    if (!given) return record.error(path.place(), "a path needs a path; write one");
    if (type && type->value == "Mount")
      return record.say(
          Fate::kNoCounterpart, *type,
          fmt::format("only device nodes are devices; mount '{}' with a volume of the pod", given->value));
    if (type) record.say(Fate::kTranslated, *type);
    if (!given->value.starts_with("/dev/"))
      return record.say(Fate::kNoCounterpart, *given, "only nodes below /dev are devices");
    entry.paths.push_back(given->value);
    if (!is_alone && is_pattern(given->value))
      record.say(Fate::kNote, *given,
                 "all nodes that match are one device, where the plugin makes pairs; write an entry for each pair");
    else
      record.say(Fate::kTranslated, *given);
  }

  void read_usb(SettingMap device, std::vector<std::string>& kinds) {
    const std::string vendor = read_id(device, "vendor"), product = read_id(device, "product");
    DeviceEntry entry{.name = name_, .paths = {"/dev/bus/usb/*/*"}};
    entry.more.push_back(fmt::format("usb = {}", toml_string(vendor + ":" + product)));
    if (const GivenText serial = device.text("serial")) {
      entry.more.push_back(fmt::format("serial = {}", toml_string(serial->value)));
      device.record().say(Fate::kTranslated, *serial);
    }
    device.finish();
    kinds.push_back(draft_.add(std::move(entry), device.path().substr(0, device.path().size() - 1)));
  }
  // Numbers of YAML lose the zeros before them: 403 is 0403.
  static std::string read_id(SettingMap& device, std::string_view key) {
    constexpr std::size_t kDigits = 4;
    const GivenText given = device.text(key);
    if (!given) {
      device.record().error(device.place(), fmt::format("a USB device needs a {}; write one", key));
      return "*";
    }
    std::string id = given->value;
    std::ranges::transform(id, id.begin(), to_lower);
    if (id.empty() || id.size() > kDigits || !std::ranges::all_of(id, is_lower_hex)) {
      device.record().error(*given, fmt::format("'{}' is not four hexadecimal digits", given->value));
      return "*";
    }
    device.record().say(Fate::kTranslated, *given);
    return std::string(kDigits - id.size(), '0') + id;
  }

  SettingMap group_;
  const std::string name_;
  DeviceEntries& draft_;
  std::int64_t count_ = 1;
};

void read_device(SettingMap device, const std::string& domain, DeviceEntries& draft) {
  ImportRecord& record = device.record();
  const GivenText name = device.text("name");
  if (!name) {
    record.error(device.place(), "a device needs a name; write one");
    return device.finish();
  }
  std::vector<std::string> kinds;
  std::int64_t replicas = 1;
  for (SettingMap& one : device.maps("groups")) {
    const Given<std::string> place = one.place();
    Group group(std::move(one), name->value, draft);
    std::ranges::move(group.read(), std::back_inserter(kinds));
    if (replicas > 1 && group.count() != replicas)
      record.say(Fate::kNote, place, "all groups of a device have the greatest count here; write a resource for each");
    replicas = std::max(replicas, group.count());
  }
  device.finish();
  const std::string resource = fmt::format("{}/{}", domain, name->value);
  if (const auto valid = check_resource_name(resource); !valid) return record.error(*name, valid.error().message);
  if (kinds.empty())
    return record.say(Fate::kNoCounterpart, *name,
                      "none of its groups is left, so the resource is left out and pods that ask for it stay pending");
  record.say(Fate::kTranslated, *name);
  draft.serve(resource, kinds, replicas, name->path);
}

}  // namespace

ImportDraft import_generic_device_plugin(const YamlNode& document, const std::string& chosen, ImportRecord& record) {
  if (is_config_map(document)) {
    const auto inner = document_in(document, chosen, record);
    return inner ? import_generic_device_plugin(*inner, "", record) : ImportDraft();
  }
  const bool has_short_name = document.find("device") != nullptr;
  if (!has_short_name && document.find("devices") == nullptr) {
    record.error(document.position,
                 "this file has no devices; import the plugin's configuration file, or write its arguments --device "
                 "into one: a list under 'devices'");
    return {};
  }
  if (!has_no_choice(document, chosen, record)) return {};
  SettingMap settings(record, &document);
  const GivenText domain = settings.text("domain");
  if (domain) record.say(Fate::kTranslated, *domain);
  DeviceEntries draft;
  for (SettingMap& device : settings.maps(has_short_name ? "device" : "devices"))
    read_device(std::move(device), domain ? domain->value : "squat.ai", draft);
  settings.pass({"listen", "log-level", "plugin-directory", "version"}, "the daemon has settings of its own for it");
  settings.finish();
  return draft.finish("a configuration of generic-device-plugin");
}

}  // namespace cardcage
