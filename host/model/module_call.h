// The calls of a Module as values, so that they can be queued, sent to a worker and executed in one place.
#pragma once

#include <string_view>
#include <utility>
#include <variant>

#include "host/model/module.h"

namespace cardcage {

// kName is the function in messages. A successful call returns a Reply.
struct StartCall {
  static constexpr std::string_view kName = "start";
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
};
struct UnprepareCall {
  static constexpr std::string_view kName = "unprepare";
  using Reply = void;
  ModuleClaim claim;
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
};
struct CheckCall {
  static constexpr std::string_view kName = "check";
  using Reply = void;
  std::string device_id;
};
struct QuiesceCall {
  static constexpr std::string_view kName = "quiesce";
  using Reply = void;
};
struct ResumeCall {
  static constexpr std::string_view kName = "resume";
  using Reply = void;
};
struct StopCall {
  static constexpr std::string_view kName = "stop";
  using Reply = void;
};

using ModuleCall = std::variant<StartCall, DiscoverCall, PrepareCall, UnprepareCall, ReconcileCall, ChooseCall,
                                PreStartCall, CheckCall, QuiesceCall, ResumeCall, StopCall>;
// Holds the call's Reply, or monostate if that is void.
using ModuleReply = std::variant<std::monostate, SnapshotPtr, PreparedEdits, std::vector<std::string>>;

inline std::string_view name_of(const ModuleCall& call) {
  return std::visit([](const auto& one) { return one.kName; }, call);
}

}  // namespace cardcage
