// Options and parameters that a module declares, and their values.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

namespace cardcage {

// One declared option or parameter; see cage_option in abi/cardcage/module.h.
enum class OptionType : std::uint32_t { kString = 1, kInteger = 2, kBoolean = 3, kDuration = 4, kList = 5 };
struct OptionDeclaration {
  std::string name;
  OptionType type = OptionType::kString;
  bool required = false, secret = false, live = false;
  std::string default_text;
  std::string help;
  std::vector<std::string> choices;
  std::int64_t min = 0, max = 0;  // both 0 = unbounded; durations in nanoseconds
};

// Durations are held in nanoseconds.
using OptionValue = std::variant<std::string, std::int64_t, bool, std::vector<std::string>>;
// Every declared option by name. `given` is false for a default.
struct OptionValues {
  struct Entry {
    OptionValue value;
    bool given = false;
    friend bool operator==(const Entry&, const Entry&) = default;
  };
  std::map<std::string, Entry, std::less<>> entries;
  friend bool operator==(const OptionValues&, const OptionValues&) = default;
};

}  // namespace cardcage
