#include "ctl/import/sriov.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <boost/algorithm/string/predicate.hpp>
#include <map>

#include "ctl/import/config_map.h"
#include "ctl/import/sriov_selectors.h"
#include "host/config/names.h"

namespace cardcage {
namespace {

constexpr const char* kDefaultPrefix = "intel.com";

// Reads one object, or a list of which one must match. Returns no table if none can be converted.
Select read_selectors(SettingMap& resource) {
  const GivenNode given = resource.any("selectors");
  if (!given) {
    resource.record().error(
        resource.place(), "the plugin ends at a resource without selectors; write \"selectors\": {} for every device");
    return Select(1);
  }
  if (given->value->kind != YamlNode::Kind::kList) return import_selectors(resource.map("selectors"));
  if (given->value->items.empty()) {
    resource.record().error(*given, "the plugin refuses an empty list; write selectors, or {} for every device");
    return Select(1);
  }
  Select select;
  for (SettingMap& selectors : resource.maps("selectors"))
    std::ranges::move(import_selectors(std::move(selectors)), std::back_inserter(select));
  // A table without conditions makes the others redundant.
  if (std::ranges::any_of(select, &SelectTable::empty)) return Select(1);
  return select;
}

// Requires a driver: the plugin offers no function without one.
Select with_driver(Select select) {
  for (SelectTable& table : select) table.try_emplace("attributes.driver", std::vector<SelectValue>{"*"});
  return select;
}

// Corrects the case of setting names: the plugin is written in Go, whose JSON ignores it.
void correct_names(YamlNode& node, ImportRecord& record) {
  static constexpr std::array kNames{"resourceList",    "resourceName",   "resourcePrefix", "deviceType", "selectors",
                                     "excludeTopology", "additionalInfo", "vendors",        "devices",    "drivers",
                                     "pciAddresses",    "acpiIndexes",    "linkTypes",      "pfNames",    "rootDevices",
                                     "isRdma",          "ddpProfiles",    "pKeys",          "vdpaType",   "auxTypes",
                                     "needVhostNet"};
  for (YamlNode& item : node.items) correct_names(item, record);
  for (YamlMember& member : node.members) {
    const auto* const known = std::ranges::find_if(
        kNames, [&](std::string_view name) { return boost::algorithm::iequals(name, member.name); });
    if (known != kNames.end() && member.name != *known) {
      if (node.find(*known) != nullptr)
        record.error(member.position,
                     fmt::format("'{}' and '{}' are one key for the plugin; remove one", member.name, *known));
      member.name = *known;
    }
    if (member.name != "additionalInfo") correct_names(member.value, record);
  }
}

// The rules of the resources, in their order: the first one that selects a device takes it, as in the plugin.
class Rules {
 public:
  explicit Rules(ImportRecord& record) : record_(record) {}

  void add(SettingMap resource) {
    const GivenText name = resource.text("resourceName"), prefix = resource.text("resourcePrefix");
    const GivenText type = resource.choice("deviceType", {"", "netDevice", "accelerator", "auxNetDevice"});
    const bool is_offered = !type || type->value.empty() || type->value == "netDevice";
    Select select;
    if (is_offered)
      select = read_options(resource);
    else
      resource.pass({"selectors", "excludeTopology", "additionalInfo"}, "its resource is left out");
    resource.finish();
    if (!name) return record_.error(resource.place(), "a resource needs a resourceName; write one");
    const bool has_prefix = prefix && !prefix->value.empty();
    const std::string resource_name = fmt::format("{}/{}", has_prefix ? prefix->value : kDefaultPrefix, name->value);
    if (const auto valid = check_resource_name(resource_name); !valid)
      return record_.error(*name, valid.error().message);
    const auto [first, is_new] = first_.emplace(resource_name, resource.path());
    if (!is_new)
      return record_.error(*name, fmt::format("'{}' is in the list twice, first as {}; write one resource with both "
                                              "selectors in a list, or choose another name",
                                              resource_name, first->second.substr(0, first->second.size() - 1)));
    record_.say(Fate::kTranslated, *name);
    if (prefix) record_.say(Fate::kTranslated, *prefix);
    if (type) say_type(*type, is_offered);
    if (is_offered) add_rule(*name, resource.path() + "selectors", resource_name, select);
  }

  std::vector<TomlTable> take_tables() { return std::move(tables_); }

 private:
  Select read_options(SettingMap& resource) {
    Select select = read_selectors(resource);
    resource.lose_if_on("excludeTopology",
                        "the kubelet is told the NUMA nodes of the devices, and may align pods with them");
    if (const GivenNode info = resource.any("additionalInfo"))
      record_.say(Fate::kNoCounterpart, *info,
                  "the PCIDEVICE_ variables that end in _INFO lack their member extra, which has it");
    return select;
  }

  void say_type(const Given<std::string>& type, bool is_offered) {
    if (is_offered)
      record_.say(Fate::kNotNeeded, type, "the module offers network functions anyway");
    else
      record_.say(Fate::kNoCounterpart, type,
                  "the module offers PCI network functions alone, so the resource is left out and pods that ask for "
                  "it stay pending");
  }

  void add_rule(const Given<std::string>& name, const std::string& from, const std::string& resource,
                const Select& select) {
    if (select.empty())
      return record_.say(Fate::kNoCounterpart, name,
                         "none of its selectors is left, so the resource is left out and pods that ask for it stay "
                         "pending");
    if (!takes_every_device_.empty())
      return record_.say(Fate::kNote, name,
                         fmt::format("'{}' before it takes every device, so the resource is left out; the plugin "
                                     "offers it without devices",
                                     takes_every_device_));
    std::vector<TomlLine> lines{{"api = \"device-plugin\"", ""}};
    lines.push_back({fmt::format("resource = {}", toml_string(resource)), name.path});
    if (select.front().empty()) takes_every_device_ = resource;
    lines.push_back({"select = " + toml_select(with_driver(select)), from});
    tables_.push_back({"[[module.serve]]", std::move(lines)});
  }

  ImportRecord& record_;
  std::vector<TomlTable> tables_;
  std::map<std::string, std::string> first_;  // by name: the path of the resource
  std::string takes_every_device_;            // name of the first resource that does
};

ImportDraft import_list(SettingMap document, ImportRecord& record) {
  ImportDraft draft{"a configuration of the SR-IOV network device plugin",
                    {{"[node]", {{"name = \"$NODE_NAME\"", ""}}}}};
  Rules rules(record);
  for (SettingMap& resource : document.maps("resourceList")) rules.add(std::move(resource));
  document.finish();
  std::vector<TomlTable> tables = rules.take_tables();
  if (tables.empty()) return draft;
  draft.tables.push_back({"[[module]]", {{"name = \"nic\"", ""}, {"path = \"libcardcage_nic.so\"", ""}}});
  std::ranges::move(tables, std::back_inserter(draft.tables));
  return draft;
}

}  // namespace

ImportDraft import_sriov(const YamlNode& document, const std::string& chosen, ImportRecord& record) {
  if (is_config_map(document)) {
    const auto inner = document_in(document, chosen, record);
    return inner ? import_sriov(*inner, "", record) : ImportDraft();
  }
  YamlNode corrected = document;
  correct_names(corrected, record);
  if (corrected.find("resourceList") == nullptr) {
    record.error(document.position,
                 "this file has no resourceList; import the plugin's ConfigMap (kubectl get configmap -o yaml), or the "
                 "JSON of one of its keys");
    return {};
  }
  if (!has_no_choice(document, chosen, record)) return {};
  return import_list(SettingMap(record, &corrected), record);
}

}  // namespace cardcage
