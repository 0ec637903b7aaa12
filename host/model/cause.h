// Causes of bad health that a module declares for its devices [R23].
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "host/core/result.h"
#include "host/model/health.h"

namespace cardcage {

// How a cause ends. The values are those of cage_cause.
enum class Recovery : std::uint8_t {
  kReport = 0,    // the module stated its end, and nothing else for recovery_time
  kSilence = 1,   // nothing as severe was stated for recovery_time
  kStable = 2,    // the value has not changed for recovery_time
  kOperator = 3,  // an operator clears it
};

// A measured value is bad from `limit` on and good again from `clear` on. In between, the last judgement stands.
struct ValueLimit {
  enum class Side : std::uint8_t { kAbove, kBelow } side = Side::kAbove;
  double limit = 0, clear = 0;  // in the cause's unit
  friend bool operator==(const ValueLimit&, const ValueLimit&) = default;
};

struct TaintRule {
  TaintEffect effect = TaintEffect::kNone;
  std::string key, value;  // empty: as in Health
  friend bool operator==(const TaintRule&, const TaintRule&) = default;
};

constexpr std::size_t kMaxDeclaredCauses = 64;

// One cause, and the host's default rule for it.
struct CauseDeclaration {
  std::string name;    // CamelCase token
  std::string help;    // one line
  std::string unit;    // UCUM code: "Cel", "W", "1"; empty = statements have no value
  bool event = false;  // stated when it happens; the module never states its end
  std::optional<ValueLimit> limit;
  std::optional<HealthState> severity;  // replaces a severity that is not healthy; nothing = as stated
  std::chrono::seconds hold_down{0};
  Recovery recovery = Recovery::kReport;
  std::chrono::seconds recovery_time{0};
  std::uint32_t relapses = 0;  // 0 = never quarantined
  std::chrono::seconds window{0};
  TaintRule taint;  // default for statements without a taint
  friend bool operator==(const CauseDeclaration&, const CauseDeclaration&) = default;
};

// Checks a declaration by the rules of R23. The error names the member as cage_cause does.
Status check_cause(const CauseDeclaration& cause);

}  // namespace cardcage
