// Turns a configuration of NVIDIA's device plugin, DRA driver or GPU operator into one of Cardcage.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "ctl/import_settings.h"
#include "ctl/import_toml.h"

namespace cardcage {

// The configuration as it grows; each member is a table or the rules of [[module.serve]].
struct NvidiaDraft {
  std::string form;
  std::vector<TomlLine> node, log, module, options;
  std::vector<std::vector<TomlLine>> rules;  // without rules the module is left out

  std::vector<TomlTable> tables() const;
};

// Tells the forms of input apart by their keys. `chosen` names the configuration to use of Helm values that have
// several, empty for their default. Mistakes of the input are errors of the record.
ImportDraft import_nvidia(const YamlNode& document, const std::string& chosen, ImportRecord& record);

// The forms. The last keys of a document that they do not know are unknown settings.
void import_plugin_config(SettingMap document, NvidiaDraft& draft);
void import_plugin_values(SettingMap document, const std::string& chosen, NvidiaDraft& draft);
void import_dra_values(SettingMap document, NvidiaDraft& draft);
void import_operator_values(SettingMap document, const std::string& chosen, NvidiaDraft& draft);

// Settings that several forms have.
inline constexpr const char* kOfPods = "about NVIDIA's pods; Cardcage has a chart of its own, charts/cardcage";
// Returns the folder, "/" if it is not given.
std::filesystem::path translate_driver_root(const GivenText& root, ImportRecord& record, NvidiaDraft& draft);
// Of a Helm chart: where and how NVIDIA's pods run.
void pass_pod_settings(SettingMap& values);

}  // namespace cardcage
