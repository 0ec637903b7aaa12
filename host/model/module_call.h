// The calls of a module as values, so that they can be queued, sent to a worker and executed in one place.
//
// A new call of the ABI is a struct here, an entry of ModuleCall, and of ModuleReply if its Reply is new. Each struct
// states:
//   kName    the name of the call in messages
//   Reply    the result of a call that succeeds
//   kPlace   the calls that it may overlap
//   kFamily  the family that the module needs for it; without it, the call fails with kUnimplemented at once
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "host/model/catalogue.h"
#include "host/model/device.h"
#include "host/model/event.h"
#include "host/model/family.h"
#include "host/model/module_claim.h"
#include "host/model/node_roots.h"
#include "host/model/option.h"
#include "host/model/pod_sandbox.h"
#include "host/model/report.h"

namespace cardcage {

// The calls of a concurrent module that may run at the same time [R8]. Calls for different claims overlap. Calls that
// only read devices run one at a time and overlap calls for claims. All other calls run alone.
enum class CallPlace : std::uint8_t { kAlone, kReads, kClaim };

// Creates the instance and starts it.
struct StartCall {
  static constexpr std::string_view kName = "start";
  static constexpr auto kPlace = CallPlace::kAlone;
  using Reply = void;
  OptionValues options;
  NodeRoots roots = {};
};
// Replaces all options. If it fails, the instance keeps its current ones.
struct ConfigureCall {
  static constexpr std::string_view kName = "configure";
  static constexpr auto kPlace = CallPlace::kAlone;
  static constexpr auto kFamily = Family::kConfigure;
  using Reply = void;
  OptionValues options;
};
struct DiscoverCall {
  static constexpr std::string_view kName = "discover";
  static constexpr auto kPlace = CallPlace::kReads;
  using Reply = SnapshotPtr;
};
// `attempt` counts the host's tries of a claim's call until one succeeds; RunningModule sets it.
struct PrepareCall {
  static constexpr std::string_view kName = "prepare";
  static constexpr auto kPlace = CallPlace::kClaim;
  using Reply = PreparedEdits;
  ModuleClaim claim;
  std::uint32_t attempt = 1;
};
struct UnprepareCall {
  static constexpr std::string_view kName = "unprepare";
  static constexpr auto kPlace = CallPlace::kClaim;
  using Reply = void;
  ModuleClaim claim;
  std::uint32_t attempt = 1;
};
// Made while a pod waits for devices of the claim that have a binding: continues to make them ready, and returns their
// progress.
struct BindCall {
  static constexpr std::string_view kName = "bind";
  static constexpr auto kPlace = CallPlace::kClaim;
  static constexpr auto kFamily = Family::kBind;
  using Reply = BindProgress;
  ModuleClaim claim;
  std::uint32_t attempt = 1;
};
// Moves devices of the prepared claim to a pod (rule R28 of abi/RULES.md).
struct AttachCall {
  static constexpr std::string_view kName = "attach";
  static constexpr auto kPlace = CallPlace::kClaim;
  static constexpr auto kFamily = Family::kSandbox;
  using Reply = void;
  ModuleClaim claim;
  SandboxedPod pod;
  std::uint32_t attempt = 1;
};
// Takes them back.
struct DetachCall {
  static constexpr std::string_view kName = "detach";
  static constexpr auto kPlace = CallPlace::kClaim;
  static constexpr auto kFamily = Family::kSandbox;
  using Reply = void;
  ModuleClaim claim;
  SandboxedPod pod;
  std::uint32_t attempt = 1;
};
// Frees everything that no live claim holds. Succeeds at once if the module has no cage.reconcile.
struct ReconcileCall {
  static constexpr std::string_view kName = "reconcile";
  static constexpr auto kPlace = CallPlace::kAlone;
  using Reply = void;
  std::vector<ModuleClaim> live;
};
// Chooses the devices for a container that requests `want` of them. `required` is a subset of `available`; both name
// each device once. Returns at most `want` ids out of `available`; they may be too few, or lack required ones.
struct ChooseCall {
  static constexpr std::string_view kName = "choose";
  static constexpr auto kPlace = CallPlace::kReads;
  static constexpr auto kFamily = Family::kPreferred;
  using Reply = std::vector<std::string>;
  std::vector<std::string> available, required;
  std::size_t want = 0;
};
// Made before each start of a container that has the prepared claim's device (device-plugin API only, rule R15 of
// abi/RULES.md).
struct PreStartCall {
  static constexpr std::string_view kName = "pre_start";
  static constexpr auto kPlace = CallPlace::kClaim;
  static constexpr auto kFamily = Family::kPreStart;
  using Reply = void;
  ModuleClaim claim;
  std::uint32_t attempt = 1;
};
// Polls the health of the devices, one after the other, until the deadline. The results arrive through
// ModuleEvents::health. Returns the number of devices that were checked, including failed checks; the error of each
// failed check is logged.
struct CheckCall {
  static constexpr std::string_view kName = "check";
  static constexpr auto kPlace = CallPlace::kReads;
  using Reply = std::size_t;
  std::vector<std::string> device_ids;
};
// Resets the hardware of the device and of its partitions.
struct ResetCall {
  static constexpr std::string_view kName = "reset";
  static constexpr auto kPlace = CallPlace::kAlone;
  static constexpr auto kFamily = Family::kReset;
  using Reply = void;
  std::string device_id;
};
// Returns every current sample.
struct CollectMetricsCall {
  static constexpr std::string_view kName = "collect metrics";
  static constexpr auto kPlace = CallPlace::kReads;
  static constexpr auto kFamily = Family::kMetrics;
  using Reply = MetricSamplesPtr;
};
// Returns every label that the node should have.
struct CollectLabelsCall {
  static constexpr std::string_view kName = "collect labels";
  static constexpr auto kPlace = CallPlace::kReads;
  static constexpr auto kFamily = Family::kLabels;
  using Reply = NodeLabels;
};
// Returns every entry that claims may name.
struct CollectCatalogueCall {
  static constexpr std::string_view kName = "collect its catalogue";
  static constexpr auto kPlace = CallPlace::kReads;
  static constexpr auto kFamily = Family::kCatalogue;
  using Reply = Catalogue;
};
// Delivers events that the module waits for; an event is never delivered twice.
struct EventsCall {
  static constexpr std::string_view kName = "handle events";
  static constexpr auto kPlace = CallPlace::kReads;
  static constexpr auto kFamily = Family::kWatch;
  using Reply = void;
  EventBatch batch;
};
struct QuiesceCall {
  static constexpr std::string_view kName = "quiesce";
  static constexpr auto kPlace = CallPlace::kAlone;
  using Reply = void;
};
struct ResumeCall {
  static constexpr std::string_view kName = "resume";
  static constexpr auto kPlace = CallPlace::kAlone;
  using Reply = void;
};
// Do the same for one device and its partitions.
struct QuiesceDeviceCall {
  static constexpr std::string_view kName = "quiesce a device";
  static constexpr auto kPlace = CallPlace::kAlone;
  static constexpr auto kFamily = Family::kQuiesce;
  using Reply = void;
  std::string device_id;
};
struct ResumeDeviceCall {
  static constexpr std::string_view kName = "resume a device";
  static constexpr auto kPlace = CallPlace::kAlone;
  static constexpr auto kFamily = Family::kQuiesce;
  using Reply = void;
  std::string device_id;
};
// Stops the instance and destroys it.
struct StopCall {
  static constexpr std::string_view kName = "stop";
  static constexpr auto kPlace = CallPlace::kAlone;
  using Reply = void;
};

using ModuleCall = std::variant<StartCall, ConfigureCall, DiscoverCall, PrepareCall, UnprepareCall, BindCall,
                                AttachCall, DetachCall, ReconcileCall, ChooseCall, PreStartCall, CheckCall, ResetCall,
                                CollectMetricsCall, CollectLabelsCall, CollectCatalogueCall, EventsCall, QuiesceCall,
                                ResumeCall, QuiesceDeviceCall, ResumeDeviceCall, StopCall>;
// Holds the call's Reply, or monostate if Reply is void.
using ModuleReply = std::variant<std::monostate, SnapshotPtr, PreparedEdits, BindProgress, std::vector<std::string>,
                                 MetricSamplesPtr, NodeLabels, Catalogue, std::size_t>;

inline std::string_view name_of(const ModuleCall& call) {
  return std::visit([](const auto& one) { return one.kName; }, call);
}

inline CallPlace place_of(const ModuleCall& call) {
  return std::visit([](const auto& one) { return one.kPlace; }, call);
}

inline std::optional<Family> family_of(const ModuleCall& call) {
  return std::visit(
      [](const auto& one) -> std::optional<Family> {
        if constexpr (requires { one.kFamily; })
          return one.kFamily;
        else
          return std::nullopt;
      },
      call);
}

inline std::uint32_t attempt_of(const ModuleCall& call) {
  return std::visit(
      [](const auto& one) -> std::uint32_t {
        if constexpr (requires { one.attempt; })
          return one.attempt;
        else
          return 1;
      },
      call);
}

// Does nothing for a call without a claim.
inline void set_attempt(ModuleCall& call, std::uint32_t attempt) {
  std::visit(
      [attempt](auto& one) {
        if constexpr (requires { one.attempt; }) one.attempt = attempt;
      },
      call);
}

// Returns the claim of the call, or null.
inline const ModuleClaim* claim_of(const ModuleCall& call) {
  return std::visit(
      [](const auto& one) -> const ModuleClaim* {
        if constexpr (requires { one.claim; })
          return &one.claim;
        else
          return nullptr;
      },
      call);
}

// Returns the pod of the call, or null.
template <class Call>
auto pod_of(Call& call) -> std::conditional_t<std::is_const_v<Call>, const SandboxedPod, SandboxedPod>* {
  if (auto* const attach = std::get_if<AttachCall>(&call)) return &attach->pod;
  if (auto* const detach = std::get_if<DetachCall>(&call)) return &detach->pod;
  return nullptr;
}

}  // namespace cardcage
