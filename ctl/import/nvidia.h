// Converts a configuration of NVIDIA's device plugin, DRA driver or GPU operator.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "ctl/import/settings.h"
#include "ctl/import/toml.h"

namespace cardcage {

// The configuration in progress; each member is a table or the rules of [[module.serve]].
struct NvidiaDraft {
  std::string form;
  std::vector<TomlLine> node, log, module, options;
  std::vector<std::vector<TomlLine>> rules;  // without rules the module is left out

  std::vector<TomlTable> tables() const;
};

// Detects the form of the input by its keys. `chosen` names the configuration of Helm values that have several, empty
// for their default. Input errors go to the record.
ImportDraft import_nvidia(const YamlNode& document, const std::string& chosen, ImportRecord& record);

// Import the forms. The last one reports the unknown keys of a document.
void import_plugin_config(SettingMap document, NvidiaDraft& draft);
void import_plugin_values(SettingMap document, const std::string& chosen, NvidiaDraft& draft);
void import_dra_values(SettingMap document, NvidiaDraft& draft);
void import_operator_values(SettingMap document, const std::string& chosen, NvidiaDraft& draft);

// Settings that several forms have.
inline constexpr const char* kOfPods = "about NVIDIA's pods; Cardcage has a chart of its own, charts/cardcage";
// Returns the folder, "/" if it is not given.
std::filesystem::path translate_driver_root(const GivenText& root, ImportRecord& record, NvidiaDraft& draft);
// Passes settings of a Helm chart about NVIDIA's pods.
void pass_pod_settings(SettingMap& values);

}  // namespace cardcage
