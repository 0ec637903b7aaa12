// Imports the configuration file of NVIDIA's device plugin, and the Helm values that contain such files.
#include <algorithm>

#include "ctl/import/nvidia.h"
#include "ctl/import/nvidia_plugin_rules.h"

namespace cardcage {
namespace {

constexpr const char* kNoToolkit = "Cardcage needs no container toolkit or runtime of NVIDIA";
constexpr const char* kOwnLabels =
    "Cardcage writes the labels of the node itself; docs/operator.md, 'Labels of the node'";
constexpr const char* kNoMps =
    "the device-plugin API of Cardcage runs no MPS, so these devices are not shared; use claims "
    "with GpuConfig and the strategy MPS, or timeSlicing";

// Settings that both Helm values and a configuration file may have.
struct Shared {
  GivenText mig_strategy, driver_root, delivery, placement;
  GivenBool gds, gdrcopy, mofed;
  std::optional<std::string> ways;  // path of the device list strategies in effect
};

class PluginImport {
 public:
  PluginImport(ImportRecord& record, NvidiaDraft& draft) : record_(record), draft_(draft) {}

  // Call one of these before read_config: Helm values become flags of the command line, which take precedence over the
  // file.
  void read_values(SettingMap& values);
  // Does the same for values of the GPU operator.
  void read_operator(SettingMap& values, SettingMap& plugin);
  // Call it once, and last.
  void read_config(SettingMap config);

 private:
  template <class T>
  void adopt(std::optional<Given<T>>& kept, std::optional<Given<T>> given);
  void read_switch(GivenBool& kept, const GivenBool& given);
  void add_options(const PluginRules& rules);
  void read_sharing(SettingMap sharing, PluginRules& rules);
  void read_enabled(SettingMap& plugin);
  void read_environment(SettingMap& plugin);
  void read_flags(SettingMap& flags);
  void read_plugin_flags(SettingMap& flags);
  void read_delivery(SettingMap& flags);
  void read_imex(SettingMap imex);

  ImportRecord& record_;
  NvidiaDraft& draft_;
  Shared shared_;
};

template <class T>
void PluginImport::adopt(std::optional<Given<T>>& kept, std::optional<Given<T>> given) {
  if (given && kept)
    record_.say(Fate::kNotNeeded, *given, kept->path + " goes before it");
  else if (given)
    kept = std::move(given);
}

void PluginImport::read_switch(GivenBool& kept, const GivenBool& given) {
  if (given && !kept)
    record_.say(given->value ? Fate::kTranslated : Fate::kNotNeeded, *given, given->value ? "" : "off");
  adopt(kept, given);
}

void PluginImport::read_flags(SettingMap& flags) {
  adopt(shared_.mig_strategy, flags.choice("migStrategy", {"none", "single", "mixed"}));
  adopt(shared_.driver_root, flags.text("nvidiaDriverRoot"));
  flags.pass({"failOnInitError"}, "Cardcage starts without a driver, and lists devices once there is one");
  flags.pass({"nvidiaDevRoot"}, "containers get device nodes by number, whatever folder has those of the node");
  read_switch(shared_.gds, flags.boolean("gdsEnabled"));
  read_switch(shared_.gdrcopy, flags.boolean("gdrcopyEnabled"));
  read_switch(shared_.mofed, flags.boolean("mofedEnabled"));
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
  imex.lose_if_on("required", "Cardcage gives IMEX channels to claims only; docs/nvidia.md, 'Multi-node NVLink'");
  if (const GivenNode channels = imex.of_kind("channelIDs", YamlNode::Kind::kList, "a list"))
    record_.say(channels->value->items.empty() ? Fate::kNotNeeded : Fate::kNoCounterpart, *channels,
                channels->value->items.empty()
                    ? "empty"
                    : "Cardcage gives IMEX channels to claims only; docs/nvidia.md, 'Multi-node NVLink'");
  imex.finish();
}

void PluginImport::read_enabled(SettingMap& plugin) {
  if (const GivenBool enabled = plugin.boolean("enabled"); enabled && !enabled->value)
    record_.say(Fate::kNoCounterpart, *enabled, "a module offers what it finds; remove [[module]] to offer nothing");
  else if (enabled)
    record_.say(Fate::kTranslated, *enabled);
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
  read_enabled(plugin);
  plugin.pass({"containers", "enableHostNetwork"}, kOfPods);
  plugin.finish();
  pass_pod_settings(values);
}

// Reads variables of the plugin's container.
void PluginImport::read_environment(SettingMap& plugin) {
  for (SettingMap& entry : plugin.maps("env")) {
    const GivenText name = entry.text("name"), value = entry.text("value");
    entry.pass({"valueFrom"}, kOfPods);
    entry.finish();
    if (!name || !value) continue;
    if (name->value == "MIG_STRATEGY")
      adopt(shared_.mig_strategy, GivenText(*value));
    else if (name->value == "FAIL_ON_INIT_ERROR" || name->value == "PASS_DEVICE_SPECS")
      record_.say(Fate::kNotNeeded, *name, "Cardcage starts without a driver, and containers get device nodes anyway");
    else
      record_.say(Fate::kNoCounterpart, *name,
                  "Cardcage reads no variables of NVIDIA's device plugin; look for a key in config/cardcage.toml");
  }
}

void PluginImport::read_operator(SettingMap& values, SettingMap& plugin) {
  SettingMap driver = values.map("driver"), paths = values.map("hostPaths"), mig = values.map("mig");
  read_environment(plugin);
  adopt(shared_.mig_strategy, mig.choice("strategy", {"none", "single", "mixed"}));
  if (!shared_.mig_strategy)
    shared_.mig_strategy = Given<std::string>{"single", "the GPU operator's default, mig.strategy single", {}};
  const GivenBool contained = driver.boolean("enabled");
  const GivenText folder = paths.text("driverInstallDir");
  if (contained) record_.say(Fate::kTranslated, *contained);
  if (contained && !contained->value) {
    if (folder) record_.say(Fate::kNotNeeded, *folder, "the driver is that of the node");
  } else {
    adopt(shared_.driver_root, folder ? folder
                                      : GivenText(Given<std::string>{
                                            "/run/nvidia/driver", "the GPU operator's default for its driver", {}}));
  }
  SettingMap gds = values.map("gds"), gdrcopy = values.map("gdrcopy");
  read_switch(shared_.gds, gds.boolean("enabled"));
  read_switch(shared_.gdrcopy, gdrcopy.boolean("enabled"));
  read_enabled(plugin);
  plugin.pass({"mps"}, "only MPS uses it");
  plugin.pass({"args", "image", "repository", "version", "imagePullPolicy", "imagePullSecrets", "resources"}, kOfPods);
  SettingMap sandbox = values.map("sandboxWorkloads");
  sandbox.lose_if_on("enabled", "GPUs for virtual machines need passthrough = true and writes; docs/nvidia.md");
  sandbox.pass({"defaultWorkload", "mode"}, "about virtual machines");
  sandbox.finish();
  paths.pass({"rootFS"}, kOfPods);
  for (SettingMap* map : {&mig, &paths}) map->finish();
  values.pass({"toolkit", "cdi"}, kNoToolkit);
  values.pass({"gfd"}, kOwnLabels);
  values.pass({"nfd", "node-feature-discovery"}, "Cardcage uses Node Feature Discovery for labels; keep it");
  values.pass({"dcgm", "dcgmExporter"},
              "Cardcage's metrics have the figures of dcgm-exporter; metrics_file takes its list of them");
  values.pass({"migManager"}, "keep it: it makes MIG instances, and Cardcage offers those that exist");
  values.pass({"vgpuManager", "vgpuDeviceManager", "vfioManager", "sandboxDevicePlugin", "kataManager",
               "kataSandboxDevicePlugin", "ccManager"},
              "about virtual machines");
  values.pass({"driver", "gds", "gdrcopy"},
              "keep the operator's driver container; Cardcage uses the driver that it installs");
  values.pass({"operator", "validator", "daemonsets", "nodeStatusExporter", "platform", "psa", "psp", "extraObjects",
               "nodeFeatureRules"},
              kOfPods);
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

  read_sharing(config.map("sharing"), rules);
  read_imex(config.map("imex"));
  config.finish();
  draft_.rules = rules.lines(shared_.delivery, shared_.placement);
  add_options(rules);
}

void PluginImport::read_sharing(SettingMap sharing, PluginRules& rules) {
  const GivenNode mps = sharing.any("mps");
  if (mps) record_.say(Fate::kNoCounterpart, *mps, kNoMps);
  const YamlMember* shared_by_mps = mps ? mps->value->find("resources") : nullptr;
  if (shared_by_mps != nullptr && !shared_by_mps->value.items.empty()) {
    sharing.pass({"timeSlicing"}, "NVIDIA's device plugin uses sharing.mps if both are there");
    return sharing.finish();
  }
  SettingMap slicing = sharing.map("timeSlicing");
  const GivenBool rename = slicing.boolean("renameByDefault"), fails = slicing.boolean("failRequestsGreaterThanOne");
  for (const GivenBool& given : {rename, fails})
    if (given) record_.say(Fate::kTranslated, *given);
  for (SettingMap& entry : slicing.maps("resources")) rules.share(std::move(entry), rename, fails);
  slicing.finish();
  sharing.finish();
}

void PluginImport::add_options(const PluginRules& rules) {
  for (const auto& [given, name] : {std::pair<const GivenBool&, const char*>(shared_.gds, "gds"),
                                    {shared_.gdrcopy, "gdrcopy"},
                                    {shared_.mofed, "mofed"}})
    if (given && given->value) draft_.options.push_back({fmt::format("{} = true", name), given->path});
  if (const GivenText& strategy = shared_.mig_strategy; strategy && strategy->value != "none")
    draft_.options.push_back({fmt::format("label_mig_strategy = {}", toml_string(strategy->value)), strategy->path});
  if (const std::vector<std::string> replicas = rules.replicas_for_labels(); !replicas.empty())
    draft_.options.push_back({fmt::format("label_replicas = [{}]", fmt::join(replicas, ", ")), "replicas, for labels"});
}

// Returns the configuration of config.map that nodes get by default, as NVIDIA's chart chooses it.
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

// Returns the configuration to convert; null if there is none, or after an error.
const YamlMember* choose_config(SettingMap& config, const char* key, const std::string& chosen) {
  ImportRecord& record = config.record();
  const GivenNode map = config.of_kind(key, YamlNode::Kind::kMap, "a map");
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

namespace {

// Imports the plugin configuration below `key` of the map `config` in Helm values, and the remaining values. `outer`
// are the maps around it, the innermost first.
void import_with_config(PluginImport& plugin, SettingMap config, const char* key, const std::string& chosen,
                        std::initializer_list<SettingMap*> outer) {
  ImportRecord& record = config.record();
  if (const GivenText name = config.text("name"); name && !name->value.empty() && config.has(key))
    record.say(Fate::kNotNeeded, *name, "names the ConfigMap that these values make");
  else if (name && !name->value.empty())
    record.say(Fate::kNoCounterpart, *name,
               "the ConfigMap is not in this file; save each text of its data in a file of its own, and import that");
  else if (name)
    record.say(Fate::kNotNeeded, *name, "empty");
  const YamlMember* member = choose_config(config, key, chosen);
  config.pass({"default", key, "fallbackStrategies", "create"}, "chooses a configuration");
  config.finish();
  for (SettingMap* map : outer) map->finish();
  if (member == nullptr) return plugin.read_config({record, nullptr});
  const std::string path = config.path() + key + "." + member->name;
  const auto document = read_yaml(member->value.text, fmt::format("{} {}", member->position.file, path));
  if (!document) return record.error(document.error().position, document.error().message);
  if (document->kind != YamlNode::Kind::kMap)
    return record.error(member->position,
                        path + ": expected the text of a configuration: a '|' and indented lines below it");
  plugin.read_config({record, &*document, path + "."});
}

}  // namespace

void import_plugin_values(SettingMap values, const std::string& chosen, NvidiaDraft& draft) {
  draft.form = "Helm values of NVIDIA's device plugin";
  PluginImport plugin(values.record(), draft);
  plugin.read_values(values);
  import_with_config(plugin, values.map("config"), "map", chosen, {&values});
}

void import_operator_values(SettingMap values, const std::string& chosen, NvidiaDraft& draft) {
  draft.form = "Helm values of NVIDIA's GPU operator";
  PluginImport plugin(values.record(), draft);
  SettingMap settings = values.map("devicePlugin");
  plugin.read_operator(values, settings);
  import_with_config(plugin, settings.map("config"), "data", chosen, {&settings, &values});
}

}  // namespace cardcage
