// Checks the options in [module.options] and the opaque parameters of a claim against the module's declarations. No
// message contains a secret value.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "host/config/config.h"
#include "host/model/module.h"
#include "host/model/option.h"

namespace cardcage {

// Returns the value as the module will read it: durations in nanoseconds. Errors have no subject: "is 9, expected 1 to
// 8".
Result<OptionValue> check_value(const OptionDeclaration& declaration, const OptionValue& written);

// The declared default, or the zero value if none is declared.
Result<OptionValue> default_value(const OptionDeclaration& declaration);

// Every declared option with its value, or all errors at once. An error has the position of the value; the error for a
// missing required option has the position of the module.
std::expected<OptionValues, ConfigErrors> check_options(const ModuleConfig& config,
                                                        const std::vector<OptionDeclaration>& declarations);

// The API server refuses larger parameters.
constexpr std::size_t kMaxParameterBytes = 10u << 10;

// Reads one JSON document of opaque parameters. Returns only the members that are written there, without apiVersion and
// kind. If the module declares no params, only the syntax is checked.
Result<OptionValues> decode_params(const ModuleIdentity& identity, std::string_view json);

// The parameters of one device: defaults, overridden member by member by `decoded` in rising precedence. Fails if a
// required parameter is missing from all of them.
Result<OptionValues> resolve_params(const ModuleIdentity& identity, const std::vector<OptionValues>& decoded);

}  // namespace cardcage
