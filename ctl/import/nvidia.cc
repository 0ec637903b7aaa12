#include "ctl/import/nvidia.h"

#include <algorithm>
#include <span>

#include "host/config/names.h"

namespace cardcage {
namespace {

using Keys = std::span<const std::string_view>;

constexpr std::string_view kConfigKeys[] = {"version", "flags", "sharing", "imex"};
constexpr std::string_view kPluginKeys[] = {"config",
                                            "migStrategy",
                                            "failOnInitError",
                                            "deviceListStrategy",
                                            "deviceIDStrategy",
                                            "compatWithCPUManager",
                                            "gdsEnabled",
                                            "gdrcopyEnabled",
                                            "mofedEnabled",
                                            "deviceDiscoveryStrategy",
                                            "devicePlugin",
                                            "gfd",
                                            "nfd",
                                            "mps"};
constexpr std::string_view kDraKeys[] = {
    "featureGates",      "kubeletPlugin",      "controller",       "webhook",     "gpuResourcesEnabledOverride",
    "nvidiaCDIHookPath", "resourceApiVersion", "consumableShares", "logVerbosity"};

constexpr std::string_view kOperatorKeys[] = {"operator",
                                              "driver",
                                              "toolkit",
                                              "validator",
                                              "daemonsets",
                                              "dcgm",
                                              "dcgmExporter",
                                              "migManager",
                                              "mig",
                                              "nodeStatusExporter",
                                              "gds",
                                              "gdrcopy",
                                              "sandboxWorkloads",
                                              "hostPaths",
                                              "vgpuManager",
                                              "vgpuDeviceManager",
                                              "vfioManager",
                                              "kataManager",
                                              "sandboxDevicePlugin",
                                              "kataSandboxDevicePlugin",
                                              "ccManager",
                                              "node-feature-discovery"};
// Keys of the operator's devicePlugin that the plugin's own values have as well.
constexpr std::string_view kOperatorPluginKeys[] = {"config", "env", "args", "image", "repository", "version", "mps"};

// Returns the first of `keys` in the document.
std::string_view first_of(const YamlNode& document, Keys keys) {
  const auto found = std::ranges::find_if(keys, [&](std::string_view key) { return document.find(key) != nullptr; });
  return found == keys.end() ? std::string_view() : *found;
}

// "resources" are pod resources in the device plugin's values, and kinds of devices in the DRA driver's.
bool has_dra_resources(const YamlNode& document) {
  const YamlMember* resources = document.find("resources");
  return resources != nullptr &&
         (resources->value.find("gpus") != nullptr || resources->value.find("computeDomains") != nullptr);
}

// The GPU operator's values have the plugin's under another key, with another default of the MIG strategy.
std::string_view operator_key(const YamlNode& document) {
  if (const std::string_view key = first_of(document, kOperatorKeys); !key.empty()) return key;
  const YamlMember* plugin = document.find("devicePlugin");
  return plugin != nullptr && !first_of(plugin->value, kOperatorPluginKeys).empty() ? "devicePlugin"
                                                                                    : std::string_view();
}

std::string kind_of_object(const YamlNode& document) {
  const YamlMember* kind = document.find("apiVersion") != nullptr ? document.find("kind") : nullptr;
  return kind != nullptr ? kind->value.text : std::string();
}

void refuse_form(const YamlNode& document, ImportRecord& record) {
  const SourcePosition& at = document.position;
  const std::string kind = kind_of_object(document);
  if (kind == "ConfigMap")
    return record.error(
        at, "this is a ConfigMap; save the text below one of the keys of its data in a file, and import that");
  if (!kind.empty())
    return record.error(at, fmt::format("this is a Kubernetes object of kind '{}'; import a configuration file of the "
                                        "device plugin, or 'helm get values RELEASE'",
                                        kind));
  record.error(
      at,
      "this file is neither a configuration of NVIDIA's device plugin (version, flags, sharing) nor Helm values "
      "of the plugin (config, migStrategy, ...), of NVIDIA's DRA driver (resources.gpus, featureGates, ...) or of the "
      "GPU operator (driver, mig, ...); if these are Helm values, add migStrategy: none for the device plugin, or "
      "resources: {gpus: {enabled: "
      "true}} for the DRA driver");
}

}  // namespace

std::vector<TomlTable> NvidiaDraft::tables() const {
  std::vector<TomlTable> tables = {{"[node]", {{"name = \"$NODE_NAME\"", ""}}}, {"[log]", log}};
  tables.front().lines.insert(tables.front().lines.end(), node.begin(), node.end());
  if (rules.empty()) return tables;
  tables.push_back({"[[module]]", {{"name = \"nvidia\"", ""}, {"path = \"libcardcage_nvidia.so\"", ""}}});
  tables.back().lines.insert(tables.back().lines.end(), module.begin(), module.end());
  tables.push_back({"[module.options]", options});
  for (const auto& rule : rules) tables.push_back({"[[module.serve]]", rule});
  return tables;
}

ImportDraft import_nvidia(const YamlNode& document, const std::string& chosen, ImportRecord& record) {
  NvidiaDraft draft;
  if (document.kind == YamlNode::Kind::kNull) {
    record.error(document.position, "the file is empty; write NVIDIA's configuration to it");
    return {};
  }
  if (document.kind != YamlNode::Kind::kMap) {
    record.error(document.position, "expected a map at the top, KEY: VALUE on each line");
    return {};
  }
  if (const YamlMember* parted = document.find("mig-configs")) {
    record.error(
        parted->value.position,
        "this is a configuration of NVIDIA's MIG manager (mig-parted), which makes the MIG instances of a node; "
        "keep it beside Cardcage, whose module offers those that exist, or remove it and set mig = \"dynamic\", "
        "with which claims make them");
    return {};
  }
  const std::string_view whole = operator_key(document), config = first_of(document, kConfigKeys);
  const std::string_view plugin = whole.empty() ? first_of(document, kPluginKeys) : std::string_view();
  std::string_view dra = first_of(document, kDraKeys);
  if (dra.empty() && config.empty() && has_dra_resources(document)) dra = "resources";
  std::vector<std::string_view> marks = {whole, config, plugin, dra};
  std::erase(marks, "");
  if (marks.size() > 1) {
    record.error(document.position, fmt::format("keys of different files are mixed: {}; import each file by itself",
                                                fmt::join(marks, ", ")));
    return {};
  }
  SettingMap settings(record, &document);
  settings.pass({"USER-SUPPLIED VALUES", "COMPUTED VALUES"}, "a heading of 'helm get values'");
  if (!chosen.empty() && plugin.empty() && whole.empty())
    record.error(document.position,
                 "--config chooses one of config.map in Helm values of the device plugin; leave it out");
  else if (!whole.empty())
    import_operator_values(std::move(settings), chosen, draft);
  else if (!config.empty())
    import_plugin_config(std::move(settings), draft);
  else if (!plugin.empty())
    import_plugin_values(std::move(settings), chosen, draft);
  else if (!dra.empty())
    import_dra_values(std::move(settings), draft);
  else
    refuse_form(document, record);
  return {draft.form, draft.tables()};
}

std::filesystem::path translate_driver_root(const GivenText& root, ImportRecord& record, NvidiaDraft& draft) {
  if (!root) return "/";
  const auto path = absolute_path(root->value);
  if (!path) {
    record.error(*root, path.error().message);
    return "/";
  }
  record.say(*path == "/" ? Fate::kNotNeeded : Fate::kTranslated, *root,
             *path == "/" ? "the default of node.driver_root" : "");
  if (*path != "/") draft.node.push_back({fmt::format("driver_root = {}", toml_path(path->native())), root->path});
  return *path;
}

void pass_pod_settings(SettingMap& values) {
  values.pass({"nameOverride", "fullnameOverride", "namespaceOverride", "selectorLabelsOverride",
               "componentSelectorLabels", "allowDefaultNamespace", "imagePullSecrets", "image", "serviceAccount",
               "updateStrategy", "podAnnotations", "podSecurityContext", "securityContext", "nodeSelector", "affinity",
               "tolerations", "priorityClassName", "runtimeClassName", "legacyDaemonsetAPI"},
              kOfPods);
}

}  // namespace cardcage
