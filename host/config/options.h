// Checks what an operator wrote in [module.options] and what a user wrote in opaque parameters against what the
// module declares. Secret values are in no message.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "host/config/config.h"
#include "host/model/module.h"

namespace cardcage {

// The value as the module will read it: durations in nanoseconds. The error has no subject: "is 9, expected 1 to 8".
Result<OptionValue> check_value(const OptionDeclaration& declaration, const OptionValue& written);

// The declared default, or the zero value where there is none.
Result<OptionValue> default_value(const OptionDeclaration& declaration);

// Every declared option with its value. All errors at once, each with the position of the value; a missing required
// option has the position of its module.
std::expected<OptionValues, ConfigErrors> check_options(const ModuleConfig& config,
                                                        const std::vector<OptionDeclaration>& declarations);

// Larger ones never come from the API server.
constexpr std::size_t kMaxParameterBytes = 10 * 1024;

// One JSON document of opaque parameters: only the members that were written, without apiVersion and kind. Nothing
// more than its form is checked if the module declares no params.
Result<OptionValues> decode_params(const ModuleIdentity& identity, std::string_view json);

// What applies to one device: defaults, then `decoded` in rising precedence, member by member. An error if a required
// parameter is in none of them.
Result<OptionValues> resolve_params(const ModuleIdentity& identity, const std::vector<OptionValues>& decoded);

}  // namespace cardcage
