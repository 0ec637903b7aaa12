// The rule by which the host judges one cause of a device's health: what the module declares, changed by
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

// Every field is decided. The default is the rule of a cause that nobody has declared: it counts at once, and is over
// when the module says so.
struct HealthRule {
  std::optional<ValueLimit> limit;  // nothing = the state is as stated
  // Of statements that are not healthy; nothing = as stated, and never with a limit. kHealthy = ignored.
  std::optional<HealthState> severity;
  Duration hold_down{0};
  Recovery recovery = Recovery::kReport;
  Duration recovery_time{0};
  std::uint32_t relapses = 0;  // within `window`, before only an operator ends the cause; 0 = never
  Duration window{0};
  std::optional<TaintRule> taint;  // nothing = as stated, or `default_taint` if the statement names none
  TaintRule default_taint;
  std::optional<KubeletHealth> kubelet;  // nothing = what the state amounts to
  // Once the device is free, it is reset, at most so often in 24 hours; 0 = never.
  std::uint32_t resets_per_day = 0;
  friend bool operator==(const HealthRule&, const HealthRule&) = default;
};

// The rule of one cause for statements with this reason.
using RuleOf = std::function<const HealthRule&(std::string_view reason)>;

}  // namespace cardcage
