// Converts configurations of device plugins that offer device nodes by path, for the generic module.
//
// Source: config.go and deviceplugin/ of squat/generic-device-plugin; README.md and main.go of
// smarter-project/smarter-device-manager.
#pragma once

#include <string>

#include "ctl/import/settings.h"
#include "ctl/import/toml.h"

namespace cardcage {

// `document` is a ConfigMap, whose key `chosen` names if it has several, or the plugin's file. Input errors go to the
// record.
ImportDraft import_generic_device_plugin(const YamlNode& document, const std::string& chosen, ImportRecord& record);
ImportDraft import_smarter_device_manager(const YamlNode& document, const std::string& chosen, ImportRecord& record);

}  // namespace cardcage
