// Converts a configuration of the SR-IOV network device plugin.
//
// Source: README.md and docs/ of k8snetworkplumbingwg/sriov-network-device-plugin.
#pragma once

#include <string>

#include "ctl/import/settings.h"
#include "ctl/import/toml.h"

namespace cardcage {

// `document` is a ConfigMap, whose key `chosen` names if it has several, or the JSON of such a key. Input errors go to
// the record.
ImportDraft import_sriov(const YamlNode& document, const std::string& chosen, ImportRecord& record);

}  // namespace cardcage
