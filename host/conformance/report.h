// The result of the check of a module file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/model/module.h"

namespace cardcage {

enum class Verdict : std::uint8_t { kPass, kFail, kSkipped };

struct Outcome {
  Verdict verdict = Verdict::kPass;
  std::string evidence;  // for a skipped rule, the reason
  friend bool operator==(const Outcome&, const Outcome&) = default;
};
inline Outcome passed(std::string evidence) { return {Verdict::kPass, std::move(evidence)}; }
inline Outcome broken(std::string evidence) { return {Verdict::kFail, std::move(evidence)}; }
inline Outcome broken(const Error& error) { return {Verdict::kFail, error.message}; }
inline Outcome skipped(std::string reason) { return {Verdict::kSkipped, std::move(reason)}; }
template <class T>
Outcome outcome_of(const Result<T>& done) {
  return done ? passed("") : broken(done.error());
}

// The texts come from the Rule.
struct Finding {
  std::string_view rule, name, statement;
  Outcome outcome;
};

struct Report {
  std::filesystem::path file;
  bool in_process = false;
  std::optional<ModuleIdentity> identity;  // empty if the module could not be loaded
  std::vector<Finding> findings;
  std::vector<std::string> logged;  // the last warnings of the host and of the module

  std::size_t count(Verdict verdict) const;
};

}  // namespace cardcage
