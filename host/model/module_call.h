// The calls of a Module as values, so that they can be queued, sent to a worker and executed in one place.
#pragma once

#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include "host/model/module.h"
#include "host/model/node_roots.h"

namespace cardcage {

// kName is the function's name in messages. A successful call returns a Reply. `attempt` counts the host's tries of a
// claim's call until one succeeds.
struct StartCall {
  static constexpr std::string_view kName = "start";
  using Reply = void;
  OptionValues options;
  NodeRoots roots = {};
};
struct ConfigureCall {
  static constexpr std::string_view kName = "configure";
  using Reply = void;
  OptionValues options;
};
struct DiscoverCall {
  static constexpr std::string_view kName = "discover";
  using Reply = SnapshotPtr;
};
struct PrepareCall {
  static constexpr std::string_view kName = "prepare";
  using Reply = PreparedEdits;
  ModuleClaim claim;
  std::uint32_t attempt = 1;
};
struct UnprepareCall {
  static constexpr std::string_view kName = "unprepare";
  using Reply = void;
  ModuleClaim claim;
  std::uint32_t attempt = 1;
};
struct BindCall {
  static constexpr std::string_view kName = "bind";
  using Reply = BindProgress;
  ModuleClaim claim;
  std::uint32_t attempt = 1;
};
struct AttachCall {
  static constexpr std::string_view kName = "attach";
  using Reply = void;
  ModuleClaim claim;
  SandboxedPod pod;
  std::uint32_t attempt = 1;
};
struct DetachCall {
  static constexpr std::string_view kName = "detach";
  using Reply = void;
  ModuleClaim claim;
  SandboxedPod pod;
  std::uint32_t attempt = 1;
};
struct ReconcileCall {
  static constexpr std::string_view kName = "reconcile";
  using Reply = void;
  std::vector<ModuleClaim> live;
};
struct ChooseCall {
  static constexpr std::string_view kName = "choose";
  using Reply = std::vector<std::string>;
  std::vector<std::string> available, required;
  std::size_t want = 0;
};
struct PreStartCall {
  static constexpr std::string_view kName = "pre_start";
  using Reply = void;
  ModuleClaim claim;
  std::uint32_t attempt = 1;
};
// Checks the devices one after the other, until the deadline; replies with the number that were checked.
struct CheckCall {
  static constexpr std::string_view kName = "check";
  using Reply = std::size_t;
  std::vector<std::string> device_ids;
};
struct ResetCall {
  static constexpr std::string_view kName = "reset";
  using Reply = void;
  std::string device_id;
};
struct CollectMetricsCall {
  static constexpr std::string_view kName = "collect metrics";
  using Reply = MetricSamplesPtr;
};
struct CollectLabelsCall {
  static constexpr std::string_view kName = "collect labels";
  using Reply = NodeLabels;
};
struct CollectCatalogueCall {
  static constexpr std::string_view kName = "collect its catalogue";
  using Reply = Catalogue;
};
struct EventsCall {
  static constexpr std::string_view kName = "handle events";
  using Reply = void;
  EventBatch batch;
};
struct QuiesceCall {
  static constexpr std::string_view kName = "quiesce";
  using Reply = void;
};
struct ResumeCall {
  static constexpr std::string_view kName = "resume";
  using Reply = void;
};
struct QuiesceDeviceCall {
  static constexpr std::string_view kName = "quiesce a device";
  using Reply = void;
  std::string device_id;
};
struct ResumeDeviceCall {
  static constexpr std::string_view kName = "resume a device";
  using Reply = void;
  std::string device_id;
};
struct StopCall {
  static constexpr std::string_view kName = "stop";
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
