// The sections of a configuration, one reader each. They note errors and go on with the default.
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
// [module.process] of a module whose isolation is known.
void read_process(TableReader table, ModuleConfig& module);
std::vector<ModuleConfig> read_modules(std::vector<TableReader> tables);

// What no block can see by itself: names used twice, rules that no device can reach.
void check_across(const std::vector<ModuleConfig>& modules, Reading& reading);

}  // namespace cardcage
