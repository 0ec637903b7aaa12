// A ConfigMap that holds the configuration of another program.
#pragma once

#include <optional>
#include <string>

#include "ctl/import/settings.h"
#include "ctl/import/yaml_document.h"

namespace cardcage {

bool is_config_map(const YamlNode& document);

// Returns the document under the key `chosen`, or under the only key. Returns nothing if the record has an error
// instead.
std::optional<YamlNode> document_in(const YamlNode& config_map, const std::string& chosen, ImportRecord& record);

// Reports a key that was chosen although the document is not a ConfigMap. Returns whether there is none.
bool has_no_choice(const YamlNode& document, const std::string& chosen, ImportRecord& record);

}  // namespace cardcage
