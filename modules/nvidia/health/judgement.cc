#include "modules/nvidia/health/judgement.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "modules/nvidia/health/declared_causes.h"

namespace cardcage::nvidia {
namespace {

// One possible fault. Rules of the same cause follow each other in descending weight: the first that applies counts.
struct Rule {
  std::string_view cause;
  const char* reason;
  bool (*test)(const Readings& now);
  std::string (*describe)(const Readings& now);
  bool bad;  // the device must not be used; otherwise it is only marked
};

const char* action_name(unsigned action) {
  switch (action) {
    case nvml::kActionReset: return "a reset of the GPU";
    case nvml::kActionReboot:
    case nvml::kActionSystemReboot: return "a restart of the node";
    case nvml::kActionDrainP2p: return "the end of peer-to-peer traffic";
    case nvml::kActionDrainAndReset: return "a reset of the GPU once its work is done";
    case nvml::kActionRecoverImexDomain: return "a restart of the IMEX domain";
    case nvml::kActionBusReset: return "a reset of the PCI bus";
    default: return "at least a reset of the GPU";
  }
}

// Actions for the work of several GPUs or nodes; a single GPU works.
bool leaves_single_gpu_work(unsigned action) {
  return action == nvml::kActionDrainP2p || action == nvml::kActionRecoverImexDomain;
}

std::string action_text(const Readings& now) {
  return std::string("the driver asks for ") + action_name(now.recovery_action.value_or(0));
}

template <class T>
bool is_above_zero(const std::optional<T>& value) {
  return value.value_or(0) > 0;
}

bool asks_for_recovery(const Readings& now) {
  const unsigned action = now.recovery_action.value_or(nvml::kActionNone);
  return action != nvml::kActionNone && !leaves_single_gpu_work(action);
}

// Since Ampere the GPU contains a memory error: the program that met it ends, and the GPU keeps working. The number of
// errors alone does not prove bad memory then.
bool has_bad_memory(const Readings& now) {
  const bool may_contain = now.remap_pending.has_value();
  return is_above_zero(now.uncorrectable_errors) &&
         (!may_contain || now.uncontained || asks_for_recovery(now) || is_above_zero(now.remap_pending) ||
          is_above_zero(now.remap_failed));
}

bool has_reached(const Readings& now, const std::optional<int>& threshold) {
  return now.temperature && threshold && *now.temperature >= *threshold;
}

std::string temperature_text(const Readings& now) {
  const std::string measured =
      now.temperature ? "it has " + std::to_string(*now.temperature) + " degrees Celsius" : "it is too hot";
  return measured + "; look at its cooling";
}

constexpr double kManyReplays = 8;  // in a minute

const std::array kRules{
    Rule{.cause = cause::kRecoveryAction,
         .reason = "RecoveryNeeded",
         .test = asks_for_recovery,
         .describe = action_text,
         .bad = true},
    Rule{.cause = cause::kRecoveryAction,
         .reason = "PeersUnsafe",
         .test = [](const Readings& now) { return leaves_single_gpu_work(now.recovery_action.value_or(0)); },
         .describe = action_text,
         .bad = false},
    Rule{.cause = cause::kEcc,
         .reason = "SramThresholdExceeded",
         .test = [](const Readings& now) { return now.sram_exceeded; },
         .describe = [](const Readings&) -> std::string {
           return "the SRAM has had more errors than the driver tolerates; replace the card";
         },
         .bad = true},
    Rule{.cause = cause::kEcc,
         .reason = "UncorrectableErrors",
         .test = has_bad_memory,
         .describe =
             [](const Readings& now) {
               return std::to_string(*now.uncorrectable_errors) +
                      " uncorrectable memory errors since the last reset; reset the GPU: nvidia-smi --gpu-reset";
             },
         .bad = true},
    Rule{.cause = cause::kEcc,
         .reason = "ContainedErrors",
         .test = [](const Readings& now) { return is_above_zero(now.uncorrectable_errors); },
         .describe =
             [](const Readings& now) {
               return std::to_string(*now.uncorrectable_errors) +
                      " uncorrectable memory errors since the last reset ended the programs that met them";
             },
         .bad = false},
    Rule{.cause = cause::kRowRemap,
         .reason = "RemapFailed",
         .test = [](const Readings& now) { return is_above_zero(now.remap_failed); },
         .describe = [](const Readings&) -> std::string {
           return "a row of memory could not be replaced; replace the card";
         },
         .bad = true},
    Rule{.cause = cause::kRowRemap,
         .reason = "RemapPending",
         .test = [](const Readings& now) { return is_above_zero(now.remap_pending); },
         .describe = [](const Readings&) -> std::string {
           return "a row of memory is replaced at the next reset: nvidia-smi --gpu-reset";
         },
         .bad = false},
    Rule{.cause = cause::kRetiredPages,
         .reason = "RetirementPending",
         .test = [](const Readings& now) { return is_above_zero(now.retirement_pending); },
         .describe = [](const Readings&) -> std::string { return "pages of memory are retired at the next restart"; },
         .bad = false},
    // Compared with the best link so far: a slot, also a virtual machine's, may have fewer lanes than the card, and an
    // older generation. An idle card lowers the generation by itself.
    Rule{.cause = cause::kPcie,
         .reason = "LinkNarrow",
         .test = [](const Readings& now) { return now.link_width && *now.link_width < now.most_lanes; },
         .describe =
             [](const Readings& now) {
               return "the PCIe link has " + std::to_string(*now.link_width) + " of the " +
                      std::to_string(now.most_lanes) + " lanes that it had; look at the seating of the card";
             },
         .bad = false},
    Rule{.cause = cause::kPcie,
         .reason = "LinkSlow",
         .test =
             [](const Readings& now) {
               return now.busy && now.link_generation && *now.link_generation < now.best_generation;
             },
         .describe =
             [](const Readings& now) {
               return "the PCIe link works as generation " + std::to_string(*now.link_generation) +
                      ", and has worked as " + std::to_string(now.best_generation) +
                      "; look at the seating of the card";
             },
         .bad = false},
    Rule{.cause = cause::kPcieErrors,
         .reason = "Replays",
         .test = [](const Readings& now) { return now.replays.value_or(0) > kManyReplays; },
         .describe =
             [](const Readings& now) {
               return std::to_string(std::llround(*now.replays)) + " PCIe packets were sent again in a minute";
             },
         .bad = false},
    Rule{.cause = cause::kNvLink,
         .reason = "LinksDown",
         .test = [](const Readings& now) { return now.nvlinks < now.most_nvlinks; },
         .describe =
             [](const Readings& now) {
               return std::to_string(now.most_nvlinks - now.nvlinks) + " of " + std::to_string(now.most_nvlinks) +
                      " NVLinks are down";
             },
         .bad = false},
    Rule{.cause = cause::kFabric,
         .reason = "FabricUnhealthy",
         .test = [](const Readings& now) { return !now.fabric_problem.empty(); },
         .describe = [](const Readings& now) { return now.fabric_problem; },
         .bad = false},
    Rule{.cause = cause::kTemperature,
         .reason = "NearShutdown",
         .test =
             [](const Readings& now) {
               return has_reached(now, now.shutdown) ||
                      (now.margin && now.shutdown_margin && *now.shutdown_margin < 0 &&
                       *now.margin <= *now.shutdown_margin);
             },
         .describe = [](const Readings& now) { return "it switches itself off: " + temperature_text(now); },
         .bad = true},
    Rule{.cause = cause::kTemperature,
         .reason = "Hot",
         .test = [](const Readings& now) { return has_reached(now, now.slowdown) || (now.margin && *now.margin <= 0); },
         .describe = [](const Readings& now) { return "it is too hot and slows down: " + temperature_text(now); },
         .bad = false},
    Rule{.cause = cause::kTemperature,
         .reason = "ThermalSlowdown",
         .test =
             [](const Readings& now) {
               return (now.clock_reasons.value_or(0) & (nvml::kReasonSwThermal | nvml::kReasonHwThermal)) != 0;
             },
         .describe = [](const Readings& now) { return "heat slows its clocks down: " + temperature_text(now); },
         .bad = false},
    Rule{.cause = cause::kTemperature,
         .reason = "AboveOperatingTemperature",
         .test = [](const Readings& now) { return has_reached(now, now.hottest); },
         .describe = [](const Readings& now) { return "it is hotter than it should work: " + temperature_text(now); },
         .bad = false},
    Rule{.cause = cause::kPower,
         .reason = "PowerBrake",
         .test = [](const Readings& now) { return (now.clock_reasons.value_or(0) & nvml::kReasonHwPowerBrake) != 0; },
         .describe = [](const Readings&) -> std::string { return "the power supply of the machine slows it down"; },
         .bad = false},
};

template <class T>
std::optional<double> as_value(const std::optional<T>& reading) {
  return reading ? std::optional(static_cast<double>(*reading)) : std::nullopt;
}

// The measured value of a cause that has a unit.
struct Measure {
  std::string_view cause;
  std::optional<double> (*read)(const Readings& now);
};
constexpr std::array kMeasures{
    Measure{cause::kEcc, [](const Readings& now) { return as_value(now.uncorrectable_errors); }},
    Measure{cause::kRowRemap, [](const Readings& now) { return as_value(now.remapped); }},
    Measure{cause::kPcie, [](const Readings& now) { return as_value(now.link_width); }},
    Measure{cause::kPcieErrors, [](const Readings& now) { return now.replays; }},
    Measure{
        cause::kNvLink,
        [](const Readings& now) { return now.most_nvlinks > 0 ? as_value(std::optional(now.nvlinks)) : std::nullopt; }},
    Measure{cause::kTemperature, [](const Readings& now) { return as_value(now.temperature); }},
    Measure{cause::kPower, [](const Readings& now) { return now.power; }},
};

cage::Health health_of(const Rule* rule, const Readings& now) {
  if (rule == nullptr) return cage::Health::ok();
  const auto make = rule->bad ? cage::Health::bad : cage::Health::degraded;
  const cage::Taint effect = rule->bad ? cage::Taint::no_schedule : cage::Taint::inform;
  return make(rule->reason, rule->describe(now), cage::Taint::none).tainted(effect, taint_key_of(rule->cause));
}

}  // namespace

std::vector<cage::Health> judge(const Readings& now) {
  std::vector<cage::Health> all;
  for (auto first = kRules.begin(); first != kRules.end();) {
    const auto end = std::find_if(first, kRules.end(), [&](const Rule& rule) { return rule.cause != first->cause; });
    const auto applying = std::find_if(first, end, [&](const Rule& rule) { return rule.test(now); });
    cage::Health health = health_of(applying == end ? nullptr : &*applying, now).about(std::string(first->cause));
    for (const Measure& measure : kMeasures)
      if (measure.cause == first->cause) health.value = measure.read(now);
    all.push_back(std::move(health));
    first = end;
  }
  return all;
}

}  // namespace cardcage::nvidia
