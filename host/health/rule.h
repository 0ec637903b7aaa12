// The rule by which the host judges one cause of a device's health: the module's declaration, changed by
// [[module.health]].
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "host/core/task.h"
#include "host/model/cause.h"

namespace cardcage {

// Every field is set. The default is the rule of an undeclared cause: it counts at once, and is over when the module
// says so.
struct HealthRule {
  std::optional<ValueLimit> limit;  // nothing = the state is as stated
  // The severity of statements that are not healthy; nothing = as stated, and never with a limit. kHealthy = ignored.
  std::optional<HealthState> severity;
  Duration hold_down{0};
  Recovery recovery = Recovery::kReport;
  Duration recovery_time{0};
  std::uint32_t relapses = 0;  // within `window`, before only an operator ends the cause; 0 = never
  Duration window{0};
  std::optional<TaintRule> taint;  // nothing = as stated, or `default_taint` if the statement names none
  TaintRule default_taint;
  std::optional<KubeletHealth> kubelet;  // nothing = follows from the state
  // Limits the resets in 24 hours, which happen once the device is free; 0 = never.
  std::uint32_t resets_per_day = 0;
  friend bool operator==(const HealthRule&, const HealthRule&) = default;
};

// The rule of one cause for statements with this reason.
using RuleOf = std::function<const HealthRule&(std::string_view reason)>;

}  // namespace cardcage
