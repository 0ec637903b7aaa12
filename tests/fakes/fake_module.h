// A module under the test's control: scripted results, calls that hang, and a record of all calls. Stands in for the
// modules of host/module, whose behaviour tests/unit/module checks.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "host/core/clock.h"
#include "host/model/module.h"

namespace cardcage {

class FakeModule final : public Module {
 public:
  // finish_calls() as a call of its own, so that a test can block it.
  struct FinishCalls {
    static constexpr std::string_view kName = "finish calls";
  };
  struct Call {
    std::string_view name;
    std::string about;  // the claim's UID, or the device id of a call for one device
    friend bool operator==(const Call&, const Call&) = default;
  };

  explicit FakeModule(asio::io_context& core) : core_(core) {
    about.id = "com.example.fake";
    about.version = "1.0.0";
  }

  // Results, set by the test.
  ModuleIdentity about;
  Snapshot devices;
  // By default each device gets the variable FAKE_<device id>=<device id> (with "_" for "-"), and the state is "state
  // of <claim UID>".
  std::function<PreparedEdits(const ModuleClaim&)> edits;
  // The result of choose; by default the required devices, then the available ones in order.
  std::function<std::vector<std::string>(const std::vector<std::string>& available,
                                         const std::vector<std::string>& required, std::size_t want)>
      preference;
  // The result of bind; by default it states nothing about any device.
  std::function<BindProgress(const ModuleClaim&)> bound;
  MetricSamples samples;
  NodeLabels labels;
  Catalogue catalogue;
  Leftover left;
  std::vector<SaidLine> said;
  std::optional<BusyModule> busy_with;
  std::optional<Progress> told;  // for every claim
  // Each discover requests the next one.
  bool rescans_in_discover = false;
  // The journal that prepare writes before it touches hardware, unless empty.
  std::string journal;
  // Called inside prepare, unprepare and pre_start, where a real module touches hardware.
  std::function<void(std::string_view call, const ModuleClaim&)> touch;

  // The next `times` calls of this type fail with `error`.
  template <class C>
  void fail(Error error, int times = 1) {
    fail(C::kName, std::move(error), times);
  }
  void fail(std::string_view call, Error error, int times = 1) { failures_[call] = {std::move(error), times}; }
  // Calls of this type hang until unblock() or their deadline.
  template <class C>
  void block() {
    blocked_[C::kName];
  }
  template <class C>
  void unblock() {
    if (const auto gate = blocked_.extract(C::kName))
      for (const OneShot<bool>& waiter : gate.mapped()) waiter.set(true);
  }

  // Values that the module has received.
  OptionValues configured;
  std::vector<Call> calls;
  std::map<std::string, ModuleClaim> holds;     // by claim UID: prepared and not unprepared
  std::map<std::string, std::string> attached;  // the pod's UID, by claim UID
  std::string pod_path;                         // network_namespace_path of the last pod that was attached to
  std::vector<std::vector<ModuleClaim>> reconciled;
  std::vector<EventBatch> batches;
  ModuleEvents events;
  template <class C>
  int count() const {
    return static_cast<int>(std::ranges::count(calls, C::kName, &Call::name));
  }

  const ModuleIdentity& identity() const override { return about; }
  Task<Status> start(ModuleEvents module_events, Instant deadline) override;
  Task<Result<ModuleReply>> execute(ModuleCall call, Instant deadline, JournalWriter write) override;
  Task<Status> finish_calls(Instant deadline) override { return respond(FinishCalls::kName, "", deadline); }
  Task<Status> stop(Instant deadline) override {
    unblock<FinishCalls>();
    return respond(StopCall::kName, "", deadline);
  }
  std::optional<BusyModule> busy() const override { return busy_with; }
  std::optional<Progress> progress(const std::string&) const override { return told; }
  std::vector<SaidLine> last_lines() const override { return said; }
  Leftover leftover() const override { return left; }

 private:
  struct Failure {
    Error error;
    int times = 0;
  };
  Task<Status> respond(std::string_view call, std::string about_what, Instant deadline);
  // Return the reply of a call that succeeds.
  ModuleReply reply(ConfigureCall& call);
  ModuleReply reply(DiscoverCall& call);
  ModuleReply reply(PrepareCall& call);
  ModuleReply reply(UnprepareCall& call);
  ModuleReply reply(BindCall& call);
  ModuleReply reply(AttachCall& call);
  ModuleReply reply(DetachCall& call);
  ModuleReply reply(ReconcileCall& call);
  ModuleReply reply(ChooseCall& call);
  ModuleReply reply(PreStartCall& call);
  ModuleReply reply(CheckCall& call) { return call.device_ids.size(); }
  ModuleReply reply(CollectMetricsCall&) { return std::make_shared<const MetricSamples>(samples); }
  ModuleReply reply(CollectLabelsCall&) { return labels; }
  ModuleReply reply(CollectCatalogueCall&) { return catalogue; }
  template <class C>
  ModuleReply reply(C&) {
    return {};
  }

  asio::io_context& core_;
  std::map<std::string_view, Failure> failures_;
  std::map<std::string_view, std::vector<OneShot<bool>>> blocked_;
};

}  // namespace cardcage
