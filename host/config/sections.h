// The sections of a configuration. A reader reports errors and continues with the default.
#pragma once

#include <vector>

#include "host/config/config.h"
#include "host/config/reader.h"

namespace cardcage {

// Reads the whole file.
void read_sections(TableReader& root, Config& config);
// The keys that differ: those that the daemon reads only when it starts, and those that take effect at once.
std::vector<std::string> changed_restart_keys(const Config& before, const Config& after);
std::vector<std::string> changed_live_keys(const Config& before, const Config& after);
void copy_restart_sections(const Config& from, Config& to);

// Reads [module.process]; module.isolation must have been read before.
void read_process(TableReader& parent, std::string_view key, ProcessConfig& process, const ModuleConfig& module);
void read_health(TableReader& parent, std::string_view key, std::vector<HealthRuleConfig>& rules);
AttributeConfig read_attribute(TableReader table);
ServeConfig read_serve(TableReader table);
// Reads `select` of a rule.
Select read_select(TableReader& rule);
ModuleConfig read_module(TableReader table);
// The keys that differ, relative to [[module]].
std::vector<std::string> changed_module_keys(const ModuleConfig& before, const ModuleConfig& after);

// Reports errors that can be seen only across modules: names that are used twice, rules that no device can reach.
void check_across_modules(const std::vector<ModuleConfig>& modules, Reading& reading);

}  // namespace cardcage
