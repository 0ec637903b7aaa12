// Turns a configuration of the SR-IOV network device plugin into one of Cardcage.
//
// Source: README.md and docs/ of k8snetworkplumbingwg/sriov-network-device-plugin.
#pragma once

#include <string>

#include "ctl/import_settings.h"
#include "ctl/import_toml.h"

namespace cardcage {

// A ConfigMap, of which `chosen` names the key if it has several, or the JSON of such a key. Mistakes of the input are
// errors of the record.
ImportDraft import_sriov(const YamlNode& document, const std::string& chosen, ImportRecord& record);

}  // namespace cardcage
