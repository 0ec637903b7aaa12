// Imports Helm values of NVIDIA's DRA driver.
#include <algorithm>

#include "ctl/import/nvidia.h"
#include "host/config/names.h"

namespace cardcage {
namespace {

constexpr std::string_view kDriver = "gpu.nvidia.com";
constexpr std::string_view kSmi = "usr/bin/nvidia-smi";  // path below the driver's root
constexpr const char *kMps = "/usr/bin/cardcage-nvidia-mps", *kOverrides = "/sys/bus/pci/devices/*/driver_override";
constexpr std::int64_t kDebugVerbosity = 6;  // requests and responses; 4 is NVIDIA's default
constexpr const char* kNoComputeDomains =
    "Cardcage runs no IMEX daemons; if you use compute domains, keep NVIDIA's DRA driver for them beside Cardcage, "
    "with "
    "resources.gpus.enabled=false, or see 'Multi-node NVLink' in docs/nvidia.md";
constexpr const char* kOfComputeDomains = "about IMEX daemons, which Cardcage does not run";

void read_resources(SettingMap resources, NvidiaDraft& draft) {
  ImportRecord& record = resources.record();
  SettingMap gpus = resources.map("gpus"), domains = resources.map("computeDomains");
  const GivenBool serves = gpus.boolean("enabled");
  if (serves && !serves->value)
    record.say(Fate::kNote, *serves, "off, so the configuration has no module");
  else if (serves)
    record.say(Fate::kTranslated, *serves);
  if (!serves || serves->value)
    draft.rules.push_back(
        {{fmt::format("driver = {}", toml_string(kDriver)), serves ? serves->path : "the name of NVIDIA's driver"}});
  if (domains.has("enabled"))
    domains.lose_if_on("enabled", kNoComputeDomains);
  else  // on by default in NVIDIA's chart
    record.say(Fate::kNote, domains.path() + "enabled", {}, kNoComputeDomains);
  domains.pass({"imex"}, kOfComputeDomains);
  for (SettingMap* map : {&gpus, &domains, &resources}) map->finish();
}

bool translate_if_on(ImportRecord& record, const GivenBool& gate) {
  if (!gate) return false;
  record.say(gate->value ? Fate::kTranslated : Fate::kNotNeeded, *gate, gate->value ? "" : "off");
  return gate->value;
}

void read_gates(SettingMap gates, const std::filesystem::path& driver_root, NvidiaDraft& draft) {
  ImportRecord& record = gates.record();
  std::string programs, from;
  for (const auto& [gate, program] : {std::pair<const char*, std::string>("TimeSlicingSettings", driver_root / kSmi),
                                      std::pair<const char*, std::string>("MPSSupport", kMps)}) {
    const GivenBool on = gates.boolean(gate);
    if (!translate_if_on(record, on)) continue;
    programs += (programs.empty() ? "" : ", ") + toml_string(program);
    from += (from.empty() ? "" : ", ") + on->path;
  }
  if (!programs.empty()) draft.module.push_back({fmt::format("programs = [{}]", programs), from});
  if (const GivenBool dynamic = gates.boolean("DynamicMIG")) {
    record.say(Fate::kTranslated, *dynamic);
    draft.options.push_back({dynamic->value ? "mig = \"dynamic\"" : "mig = \"static\"", dynamic->path});
  }
  if (const GivenBool on = gates.boolean("PassthroughSupport"); translate_if_on(record, on)) {
    draft.module.push_back({fmt::format("writes = [{}]", toml_string(kOverrides)), on->path});
    draft.options.push_back({"passthrough = true", on->path});
  }
  gates.pass({"NVMLDeviceHealthCheck"}, "Cardcage always watches the health of GPUs");
  gates.pass({"IMEXDaemonsWithDNSNames", "ComputeDomainCliques", "CrashOnNVLinkFabricErrors", "HostManagedIMEXDaemon",
              "NodeLocalFabricIPC"},
             kOfComputeDomains);
  gates.pass({"ContextualLogging", "LoggingAlphaOptions", "LoggingBetaOptions"},
             "about the log of NVIDIA's programs; [log] is that of Cardcage");
  gates.lose_if_on("ConsumableShares", "no claim takes a part of a GPU's memory; share a claim, or use MIG");
  gates.lose_if_on("FabricManagerPartitioning",
                   "Cardcage does not switch partitions of NVSwitches; keep NVIDIA's DRA driver where you need it");
  gates.lose_if_on("DRAListTypeAttributes",
                   "Cardcage publishes one NUMA node of a device; compare it with == in selectors");
  gates.lose_if_on("DeviceMetadata",
                   "containers get no metadata files of their devices; read the ResourceSlice instead");
  gates.finish();
}

void read_verbosity(SettingMap& values, NvidiaDraft& draft) {
  const GivenText text = values.text("logVerbosity");
  if (!text) return;
  if (text->value.empty() || text->value.find_first_not_of("0123456789") != std::string::npos || text->value.size() > 3)
    return values.record().error(*text, fmt::format("expected a number such as 4, found '{}'", text->value));
  if (std::stoi(text->value) < kDebugVerbosity)
    return values.record().say(Fate::kNotNeeded, *text, "corresponds to the default of log.level, info");
  values.record().say(Fate::kTranslated, *text);
  draft.log.push_back({"level = \"debug\"", text->path});
}

// Both folders lie below the kubelet's root, which is the one that Cardcage needs.
void read_kubelet_folder(SettingMap& plugin, std::string_view key, std::string_view name, NvidiaDraft& draft) {
  const GivenText folder = plugin.text(key);
  if (!folder) return;
  ImportRecord& record = plugin.record();
  const auto path = absolute_path(folder->value);
  if (!path) return record.error(*folder, path.error().message);
  if (path->filename() != name)
    return record.say(Fate::kNoCounterpart, *folder,
                      fmt::format("Cardcage uses the folder {} below node.kubelet_root; set that key", name));
  const std::string root = path->parent_path();
  if (root == NodeConfig().kubelet_root) return record.say(Fate::kNotNeeded, *folder, "the default");
  const std::string line = fmt::format("kubelet_root = {}", toml_path(root));
  const auto earlier =
      std::ranges::find_if(draft.node, [](const TomlLine& node) { return node.text.starts_with("kubelet_root"); });
  if (earlier != draft.node.end() && earlier->text != line)
    return record.say(Fate::kNoCounterpart, *folder,
                      fmt::format("below another folder than {}; Cardcage knows one node.kubelet_root", earlier->from));
  record.say(Fate::kTranslated, *folder);
  if (earlier == draft.node.end()) draft.node.push_back({line, folder->path});
}

void read_environment(SettingMap container) {
  if (const GivenNode env = container.of_kind("env", YamlNode::Kind::kList, "a list"))
    container.record().say(env->value->items.empty() ? Fate::kNotNeeded : Fate::kNoCounterpart, *env,
                           env->value->items.empty() ? "empty"
                                                     : "Cardcage reads no variables of NVIDIA's driver; look for a key "
                                                       "for each in config/cardcage.toml");
  container.pass({"securityContext", "resources", "healthcheckPort", "gpuCliqueLabelEnabled"}, kOfPods);
  container.finish();
}

void read_kubelet_plugin(SettingMap plugin, NvidiaDraft& draft) {
  read_kubelet_folder(plugin, "kubeletRegistrarDirectoryPath", "plugins_registry", draft);
  read_kubelet_folder(plugin, "kubeletPluginsDirectoryPath", "plugins", draft);
  plugin.pass({"metrics"}, "Cardcage's metrics are at metrics.listen");
  plugin.pass({"networkPolicy"}, kOfPods);
  pass_pod_settings(plugin);
  SettingMap containers = plugin.map("containers");
  containers.pass({"init"}, kOfPods);
  containers.pass({"computeDomains"}, kOfComputeDomains);
  read_environment(containers.map("gpus"));
  containers.finish();
  plugin.finish();
}

}  // namespace

void import_dra_values(SettingMap values, NvidiaDraft& draft) {
  ImportRecord& record = values.record();
  draft.form = "Helm values of NVIDIA's DRA driver";
  const std::filesystem::path root = translate_driver_root(values.text("nvidiaDriverRoot"), record, draft);
  read_resources(values.map("resources"), draft);
  read_gates(values.map("featureGates"), root, draft);
  read_verbosity(values, draft);
  read_kubelet_plugin(values.map("kubeletPlugin"), draft);
  if (const GivenText shares = values.text("consumableShares"); shares && shares->value.empty())
    record.say(Fate::kNotNeeded, *shares, "off");
  else if (shares)
    record.say(
        shares->value == "disabled" ? Fate::kNotNeeded : Fate::kNoCounterpart, *shares,
        shares->value == "disabled" ? "off" : "no claim takes a part of a GPU's memory; share a claim, or use MIG");
  if (const GivenText devices = values.text("altProcDevices"))
    record.say(
        devices->value.empty() ? Fate::kNotNeeded : Fate::kNoCounterpart, *devices,
        devices->value.empty() ? "empty" : "Cardcage reads devices below node.procfs_root; set that key for a test");
  values.pass({"nvidiaCDIHookPath"}, "Cardcage needs no hooks of NVIDIA's container toolkit");
  values.pass({"gpuResourcesEnabledOverride"}, "a check of NVIDIA's chart");
  values.pass({"resourceApiVersion"}, "about objects that NVIDIA's chart makes; docs/nvidia.md has a DeviceClass");
  values.pass({"webhook"}, "Cardcage checks the parameters of a claim when it prepares the claim");
  values.pass({"controller"}, kOfComputeDomains);
  pass_pod_settings(values);
  values.finish();
}

}  // namespace cardcage
