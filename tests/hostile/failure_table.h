// Reads docs/failure-modes.md.
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
    std::optional<Outcome> outcome;  // empty for an unknown word
    std::string words;               // the text after it
  };
  std::string fault;
  Cell in_process, process;
};

// The rows of the table of modules, in order.
std::vector<FailureRow> read_failure_table();
// The outcomes that the list explains, in order.
std::vector<std::string> read_explained_outcomes();

}  // namespace cardcage
