// Checks values against the declarations of a module, and the options in [module.options]. No message contains a secret
// value.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "host/config/config.h"
#include "host/model/module.h"
#include "host/model/option.h"

namespace cardcage {

// Limits of every map, also if its declaration allows more.
constexpr std::size_t kMaxMapEntries = 128, kMaxMapKey = 253;

// Returns the value as the module will read it: durations in nanoseconds. Errors have no subject: "is 9, expected 1 to
// 8".
Result<OptionValue> check_value(const OptionDeclaration& declaration, const OptionValue& written);

// The declared default, or the zero value if none is declared.
Result<OptionValue> default_value(const OptionDeclaration& declaration);

// Every declared option with its value, or all errors at once. An error has the position of the value; the error for a
// missing required option has the position of the module.
std::expected<OptionValues, ConfigErrors> check_options(const ModuleConfig& config,
                                                        const std::vector<OptionDeclaration>& declarations);

// Like check_options(), with all errors in one text of several lines.
Result<OptionValues> checked_options(const ModuleConfig& config, const std::vector<OptionDeclaration>& declarations);

// True if an instance of `before` can become one of `after` by cage.configure: nothing but live options differs.
bool differs_in_live_options_only(const ModuleConfig& before, const ModuleConfig& after,
                                  const std::vector<OptionDeclaration>& declarations);

}  // namespace cardcage
