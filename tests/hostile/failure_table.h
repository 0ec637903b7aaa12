// docs/failure-modes.md as data.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cardcage {

enum class Outcome { kRefused, kCallFails, kInstanceLost, kHarmless, kDaemonSpoiled, kDaemonDies, kNotRun };

std::string_view to_string(Outcome outcome);

struct FailureRow {
  struct Cell {
    std::optional<Outcome> outcome;  // empty for a word that is none
    std::string words;               // what follows it
  };
  std::string fault;
  Cell in_process, process;
};

// The rows of its table, in order.
std::vector<FailureRow> read_failure_table();
// The words that its list explains, in order.
std::vector<std::string> read_explained_outcomes();

}  // namespace cardcage
