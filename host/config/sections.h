// A reader for each section of a configuration. A reader reports errors and continues with the default.
#pragma once

#include <vector>

#include "host/config/config.h"
#include "host/config/reader.h"

namespace cardcage {

NodeConfig read_node(TableReader table);
ApiServerConfig read_apiserver(TableReader table);
LogConfig read_log(TableReader table);
MetricsConfig read_metrics(TableReader table);
DeadlineConfig read_deadlines(TableReader table);
// Reads [module.process]; module.isolation must have been read before.
void read_process(TableReader table, ModuleConfig& module);
// Reads the keys of [[module]] that limit the edits for containers.
AllowedEdits read_allowed_edits(TableReader& table);
std::vector<HealthRuleConfig> read_health(std::vector<TableReader> tables);
std::vector<AttributeConfig> read_attributes(std::vector<TableReader> tables);
// Reads `select` of a rule.
Select read_select(TableReader& rule);
std::vector<ModuleConfig> read_modules(std::vector<TableReader> tables);

// Reports errors that can be seen only across modules: names that are used twice, rules that no device can reach.
void check_across_modules(const std::vector<ModuleConfig>& modules, Reading& reading);

}  // namespace cardcage
