// Options and parameters that a module declares, and their values.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "host/model/claim.h"

namespace cardcage {

// One declared option or parameter; see cage_option in abi/cardcage/module.h.
enum class OptionType : std::uint32_t { kString = 1, kInteger = 2, kBoolean = 3, kDuration = 4, kList = 5, kMap = 6 };
struct OptionDeclaration {
  std::string name;  // the name of a parameter may be a path: "sharing.mpsConfig.threads"
  OptionType type = OptionType::kString;
  bool required = false, secret = false, live = false, class_only = false, quantity = false;
  bool objects = false;  // items of the list may be objects
  std::string default_text;
  std::string help;
  std::vector<std::string> choices;
  std::int64_t min = 0, max = 0;  // both 0 = unbounded; durations in nanoseconds
};

// One kind of parameters; see cage_params_schema. The names of a module's only schema may be empty.
struct ParamsSchema {
  std::string api_version, kind;
  std::vector<OptionDeclaration> fields;
  std::vector<std::string> device_kinds;  // device kinds that take it; empty = all
  bool raw = false;                       // CAGE_SCHEMA_RAW: the module reads the text itself
  bool whole = false;                     // only the last document counts
  bool is_default = false;                // takes documents that name neither apiVersion nor kind
};

// Durations are held in nanoseconds.
using TextMap = std::map<std::string, std::string>;
using OptionValue = std::variant<std::string, std::int64_t, bool, std::vector<std::string>, TextMap>;
// Every declared option or parameter by name. `given` is false for a default. An object with nested parameters is an
// empty map and exists only for its `given`.
struct OptionValues {
  struct Entry {
    OptionValue value;
    bool given = false;
    std::optional<ConfigSource> source = {};  // source of a given parameter
    friend bool operator==(const Entry&, const Entry&) = default;
  };
  std::map<std::string, Entry, std::less<>> entries;
  std::string kind;  // kind of the parameters; empty for options
  // Returns true for a device that takes no declared parameters.
  bool empty() const { return entries.empty() && kind.empty(); }
  friend bool operator==(const OptionValues&, const OptionValues&) = default;
};

}  // namespace cardcage
