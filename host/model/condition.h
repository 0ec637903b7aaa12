// The condition of something: a level for code, a token for programs, and a text for people.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cardcage {

enum class Level : std::uint8_t {
  kGood,
  kInProgress,  // not good yet, or paused on purpose; no action needed
  kBad,         // needs an operator's action
};

constexpr std::string_view to_string(Level level) {
  switch (level) {
    case Level::kGood: return "good";
    case Level::kInProgress: return "in progress";
    case Level::kBad: return "bad";
  }
  return "unknown";
}

struct Condition {
  Level level = Level::kInProgress;  // the only part that code decides on
  std::string reason;                // a stable token, the same in JSON and in metrics: "registered", "backing off"
  std::string text;                  // why, for people; may be empty
  friend bool operator==(const Condition&, const Condition&) = default;
};

}  // namespace cardcage
