// The configuration file of NVIDIA's device plugin, and the Helm values that contain such files.
#include <algorithm>

#include "ctl/nvidia_import.h"
#include "ctl/nvidia_plugin_rules.h"

namespace cardcage {
namespace {

constexpr const char* kNoToolkit = "Cardcage needs no container toolkit or runtime of NVIDIA";
constexpr const char* kOwnLabels =
    "Cardcage writes the labels of the node itself; docs/operator.md, 'Labels of the node'";
constexpr const char* kNoMps =
    "the device-plugin API of Cardcage runs no MPS, so these devices are not shared; use claims "
    "with GpuConfig and the strategy MPS, or timeSlicing";

// Settings that Helm values and a configuration file may both have.
struct Shared {
  GivenText mig_strategy, driver_root, delivery, placement;
  std::optional<std::string> ways;  // the path of the device list strategies that count
};

class PluginImport {
 public:
  PluginImport(ImportRecord& record, NvidiaDraft& draft) : record_(record), draft_(draft) {}

  // To be called before read_config: Helm values become flags of the command line, which go before the file.
  void read_values(SettingMap& values);
  // Once, and last.
  void read_config(SettingMap config);

 private:
  void adopt(GivenText& kept, GivenText given);
  void read_flags(SettingMap& flags);
  void read_plugin_flags(SettingMap& flags);
  void read_delivery(SettingMap& flags);
  void read_imex(SettingMap imex);

  ImportRecord& record_;
  NvidiaDraft& draft_;
  Shared shared_;
};

void PluginImport::adopt(GivenText& kept, GivenText given) {
  if (given && kept)
    record_.say(Fate::kNotNeeded, *given, kept->path + " goes before it");
  else if (given)
    kept = std::move(given);
}

void PluginImport::read_flags(SettingMap& flags) {
  adopt(shared_.mig_strategy, flags.choice("migStrategy", {"none", "single", "mixed"}));
  adopt(shared_.driver_root, flags.text("nvidiaDriverRoot"));
  flags.pass({"failOnInitError"}, "Cardcage starts without a driver, and lists devices once there is one");
  flags.pass({"nvidiaDevRoot"}, "containers get device nodes by number, whatever folder has those of the node");
  flags.lose_if_on("gdsEnabled", "containers get no device nodes of GPUDirect Storage; mount them in the pod");
  flags.lose_if_on("gdrcopyEnabled", "containers get no /dev/gdrdrv; mount it in the pod");
  flags.lose_if_on("mofedEnabled", "containers get no InfiniBand devices; ask for them from the plugin of the NIC");
  const GivenText discovery = flags.choice("deviceDiscoveryStrategy", {"auto", "nvml", "tegra"});
  if (discovery && discovery->value == "tegra")
    record_.say(Fate::kNoCounterpart, *discovery, "Cardcage does not know Tegra; keep NVIDIA's device plugin there");
  else if (discovery)
    record_.say(Fate::kNotNeeded, *discovery, "Cardcage finds GPUs with NVML");
}

void PluginImport::read_plugin_flags(SettingMap& flags) {
  read_delivery(flags);
  flags.pass({"passDeviceSpecs"}, "containers always get the device nodes from the kubelet or from CDI");
  flags.pass({"nvidiaCTKPath", "nvidiaCDIHookPath", "containerDriverRoot"}, kNoToolkit);
  if (const GivenText ids = flags.choice("deviceIDStrategy", {"uuid", "index"}); ids && ids->value == "index")
    record_.say(Fate::kNoCounterpart, *ids,
                "Cardcage lists devices by UUID; change what reads their ids from the kubelet");
  else if (ids)
    record_.say(Fate::kNotNeeded, *ids, "Cardcage lists devices by UUID");
  if (const GivenText prefix = flags.text("cdiAnnotationPrefix"); prefix && prefix->value != "cdi.k8s.io/")
    record_.say(Fate::kNoCounterpart, *prefix, "annotations of Cardcage begin with cdi.k8s.io/, which runtimes expect");
  else if (prefix)
    record_.say(Fate::kNotNeeded, *prefix, "as in Cardcage");
  GivenText placement = flags.choice("sharedDevicesAllocationPolicy", {"distributed", "packed"});
  if (!placement) return;
  if (!shared_.placement) record_.say(Fate::kTranslated, *placement);
  if (placement->value == "distributed") placement->value = "spread";
  adopt(shared_.placement, std::move(placement));
}

void PluginImport::read_delivery(SettingMap& flags) {
  const auto ways = flags.words("deviceListStrategy");
  if (!ways) return;
  const auto has = [&](std::string_view way) { return std::ranges::find(ways->value, way) != ways->value.end(); };
  for (const std::string& way : ways->value)
    if (way != "envvar" && way != "volume-mounts" && way != "cdi-annotations" && way != "cdi-cri")
      record_.error(*ways, fmt::format("'{}' is none of the values that NVIDIA knows; write one or more of: envvar, "
                                       "volume-mounts, cdi-annotations, cdi-cri",
                                       way));
  if (shared_.ways) return record_.say(Fate::kNotNeeded, *ways, *shared_.ways + " goes before it");
  shared_.ways = ways->path;
  if (!has("cdi-cri") && !has("cdi-annotations"))
    return record_.say(
        Fate::kNotNeeded, *ways,
        std::string(kNoToolkit) + "; where the runtime has no CDI, add deliver = \"direct\" to each rule");
  record_.say(Fate::kTranslated, *ways);
  shared_.delivery = Given<std::string>{has("cdi-cri") ? "cdi" : "cdi-annotations", ways->path, ways->position};
}

void PluginImport::read_imex(SettingMap imex) {
  imex.lose_if_on("required", "Cardcage serves no IMEX channels; keep NVIDIA's driver for them");
  if (const GivenNode channels = imex.of_kind("channelIDs", YamlNode::Kind::kList, "a list"))
    record_.say(
        channels->value->items.empty() ? Fate::kNotNeeded : Fate::kNoCounterpart, *channels,
        channels->value->items.empty() ? "empty" : "Cardcage serves no IMEX channels; keep NVIDIA's driver for them");
  imex.finish();
}

void PluginImport::read_values(SettingMap& values) {
  read_flags(values);
  read_plugin_flags(values);
  values.pass({"compatWithCPUManager"}, "containers always get the device nodes from the kubelet or from CDI");
  values.pass({"cdi"}, kNoToolkit);
  values.pass({"mps"}, "only MPS uses it");
  values.pass({"gfd"}, kOwnLabels);
  values.pass({"nfd"}, "Cardcage installs no Node Feature Discovery; install it for labels of the node");
  values.pass({"resources"}, kOfPods);
  SettingMap plugin = values.map("devicePlugin");
  if (const GivenBool enabled = plugin.boolean("enabled"); enabled && !enabled->value)
    record_.say(Fate::kNoCounterpart, *enabled, "a module offers what it finds; remove [[module]] to offer nothing");
  else if (enabled)
    record_.say(Fate::kTranslated, *enabled);
  plugin.pass({"containers", "enableHostNetwork"}, kOfPods);
  plugin.finish();
  pass_pod_settings(values);
}

void PluginImport::read_config(SettingMap config) {
  if (const GivenText version = config.text("version"); version && version->value != "v1")
    record_.error(*version, fmt::format("'{}' is not known; this command reads version v1", version->value));
  else if (version)
    record_.say(Fate::kNotNeeded, *version, "that of NVIDIA's format");
  else if (config.has_members())
    record_.error(config.place().position, "version is missing; write version: v1");
  SettingMap flags = config.map("flags"), plugin = flags.map("plugin");
  read_flags(flags);
  read_plugin_flags(plugin);
  flags.pass({"gfd", "useNodeFeatureAPI"}, kOwnLabels);
  flags.pass({"mpsRoot"}, "only MPS uses it");
  plugin.finish();
  flags.finish();
  translate_driver_root(shared_.driver_root, record_, draft_);

  PluginRules rules(record_);
  SettingMap resources = config.map("resources");
  std::vector<SettingMap> gpus = resources.maps("gpus"), migs = resources.maps("migs");
  std::ranges::move(resources.maps("mig"), std::back_inserter(migs));
  if (!gpus.empty() || !migs.empty())
    record_.say(Fate::kNote, resources.place(),
                "many versions of NVIDIA's device plugin ignore it; check by which names your pods ask");
  if (const GivenText& strategy = shared_.mig_strategy) record_.say(Fate::kTranslated, *strategy);
  rules.add_strategy(
      shared_.mig_strategy.value_or(Given<std::string>{"none", "NVIDIA's default, migStrategy none", {}}),
      std::move(gpus), std::move(migs));
  resources.finish();

  SettingMap sharing = config.map("sharing"), slicing = sharing.map("timeSlicing");
  const GivenBool rename = slicing.boolean("renameByDefault"), fails = slicing.boolean("failRequestsGreaterThanOne");
  for (const GivenBool& given : {rename, fails})
    if (given) record_.say(Fate::kTranslated, *given);
  for (SettingMap& entry : slicing.maps("resources")) rules.share(std::move(entry), rename, fails);
  slicing.finish();
  if (const GivenNode mps = sharing.any("mps")) record_.say(Fate::kNoCounterpart, *mps, kNoMps);
  sharing.finish();
  read_imex(config.map("imex"));
  config.finish();
  draft_.rules = rules.lines(shared_.delivery, shared_.placement);
}

// The configuration of config.map that nodes get by default, as NVIDIA's chart chooses it.
const YamlMember* default_config(const YamlNode& map, const GivenText& named) {
  if (named && !named->value.empty()) return map.find(named->value);
  if (const YamlMember* conventional = map.find("default")) return conventional;
  return map.members.size() == 1 ? &map.members.front() : nullptr;
}

std::string config_names(const YamlNode& map) {
  std::vector<std::string> names;
  for (const YamlMember& member : map.members) names.push_back(member.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

// The configuration to translate; null if there is none, or after an error.
const YamlMember* choose_config(SettingMap& config, const std::string& chosen) {
  ImportRecord& record = config.record();
  const GivenNode map = config.of_kind("map", YamlNode::Kind::kMap, "a map");
  const GivenText named = chosen.empty() ? config.text("default") : Given<std::string>{chosen, "--config", {}};
  if (!map || map->value->members.empty()) {
    if (!chosen.empty()) record.error(config.place(), fmt::format("has no map with a configuration '{}'", chosen));
    return nullptr;
  }
  const YamlMember* member = default_config(*map->value, named);
  if (member == nullptr) {
    record.error(*map, fmt::format("{}; choose one with --config: {}",
                                   named ? fmt::format("there is no configuration '{}'", named->value)
                                         : "there are several configurations and no default",
                                   config_names(*map->value)));
    return nullptr;
  }
  for (const YamlMember& other : map->value->members)
    if (&other != member)
      record.say(chosen.empty() ? Fate::kNoCounterpart : Fate::kNotNeeded, map->path + "." + other.name, other.position,
                 chosen.empty()
                     ? "a node's label chooses this one; Cardcage has one file on each node: import this one "
                       "for such nodes with --config"
                     : "--config chose another");
  return member;
}

}  // namespace

void import_plugin_config(SettingMap document, NvidiaDraft& draft) {
  draft.form = "a configuration of NVIDIA's device plugin";
  PluginImport(document.record(), draft).read_config(std::move(document));
}

void import_plugin_values(SettingMap values, const std::string& chosen, NvidiaDraft& draft) {
  ImportRecord& record = values.record();
  draft.form = "Helm values of NVIDIA's device plugin";
  PluginImport plugin(record, draft);
  plugin.read_values(values);
  SettingMap config = values.map("config");
  if (const GivenText name = config.text("name"); name && !name->value.empty())
    record.say(Fate::kNoCounterpart, *name,
               "the ConfigMap is not in this file; save each text of its data in a file of its own, and import that");
  else if (name)
    record.say(Fate::kNotNeeded, *name, "empty");
  const YamlMember* member = choose_config(config, chosen);
  config.pass({"default", "map", "fallbackStrategies"}, "chooses a configuration");
  config.finish();
  values.finish();
  if (member == nullptr) return plugin.read_config({record, nullptr});
  const std::string path = "config.map." + member->name;
  const auto document = read_yaml(member->value.text, fmt::format("{} {}", member->position.file, path));
  if (!document) return record.error(document.error().position, document.error().message);
  if (document->kind != YamlNode::Kind::kMap)
    return record.error(member->position,
                        path + ": expected the text of a configuration: a '|' and indented lines below it");
  plugin.read_config({record, &*document, path + "."});
}

}  // namespace cardcage
