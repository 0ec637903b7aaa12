// A rule of abi/RULES.md as data: its statement, its precondition, and the function that checks it.
#pragma once

#include <span>
#include <string_view>

#include "host/conformance/report.h"
#include "host/conformance/trial.h"

namespace cardcage {

struct Rule {
  std::string_view number;     // in abi/RULES.md: "R14"
  std::string_view name;       // for programs, unique: "prepare-again"
  std::string_view statement;  // for people
  std::string_view needs;      // the name of an earlier rule; unless that one passes, this one is skipped
  Task<Outcome> (*check)(Trial& trial);
};

// The last rule fails if the host has logged a breach of a rule that no other check found broken.
inline constexpr std::string_view kLogRule = "log";

// Sorted by the order of the checks.
std::span<const Rule> all_rules();

}  // namespace cardcage
