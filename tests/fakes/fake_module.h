// A module under the test's control: scripted results, calls that hang, and a record of all calls. Stands in for the
// modules of host/module, whose behaviour tests/unit/module checks.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "host/core/clock.h"
#include "host/model/module.h"

namespace cardcage {

class FakeModule final : public Module {
 public:
  enum class Verb {
    kStart,
    kConfigure,
    kDiscover,
    kPrepare,
    kUnprepare,
    kBind,
    kAttach,
    kDetach,
    kReconcile,
    kChoose,
    kPreStart,
    kCheck,
    kReset,
    kCollectMetrics,
    kCollectLabels,
    kCollectCatalogue,
    kEvents,
    kFinishCalls,
    kQuiesce,
    kResume,
    kQuiesceDevice,
    kResumeDevice,
    kStop
  };
  struct Call {
    Verb verb;
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
  // Used if about.has_preferred. By default the required devices, then the available ones in order.
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
  std::function<void(Verb, const ModuleClaim&)> touch;

  // The next `times` calls of `verb` fail with `error`.
  void fail(Verb verb, Error error, int times = 1);
  // Calls of `verb` hang until unblock() or their deadline.
  void block(Verb verb) { blocked_[verb]; }
  void unblock(Verb verb);

  // Values that the module has received.
  OptionValues configured;
  std::vector<Call> calls;
  std::map<std::string, ModuleClaim> holds;     // by claim UID: prepared and not unprepared
  std::map<std::string, std::string> attached;  // the pod's UID, by claim UID
  std::vector<std::vector<ModuleClaim>> reconciled;
  std::vector<EventBatch> batches;
  ModuleEvents events;
  int count(Verb verb) const;

  const ModuleIdentity& identity() const override { return about; }
  Task<Status> start(ModuleEvents module_events, Instant deadline) override;
  Task<Status> configure(OptionValues options, Instant deadline) override;
  Task<Result<SnapshotPtr>> discover(Instant deadline) override;
  Task<Result<PreparedEdits>> prepare(ModuleClaim claim, Instant deadline, JournalWriter write = {}) override;
  Task<Status> unprepare(ModuleClaim claim, Instant deadline) override;
  Task<Result<BindProgress>> bind(ModuleClaim claim, Instant deadline) override;
  Task<Status> attach(ModuleClaim claim, SandboxedPod pod, Instant deadline) override;
  Task<Status> detach(ModuleClaim claim, SandboxedPod pod, Instant deadline) override;
  Task<Status> reconcile(std::vector<ModuleClaim> live, Instant deadline) override;
  Task<Result<std::vector<std::string>>> choose(std::vector<std::string> available, std::vector<std::string> required,
                                                std::size_t want, Instant deadline) override;
  Task<Status> pre_start(ModuleClaim claim, Instant deadline) override;
  Task<Result<std::size_t>> check(std::vector<std::string> device_ids, Instant deadline) override;
  Task<Status> reset_device(std::string device_id, Instant deadline) override {
    return respond(Verb::kReset, std::move(device_id), deadline);
  }
  Task<Result<MetricSamplesPtr>> collect_metrics(Instant deadline) override;
  Task<Result<NodeLabels>> collect_labels(Instant deadline) override;
  Task<Result<Catalogue>> collect_catalogue(Instant deadline) override;
  Task<Status> deliver_events(EventBatch batch, Instant deadline) override;
  // A call of its own, so that a test can block it.
  Task<Status> finish_calls(Instant deadline) override { return respond(Verb::kFinishCalls, "", deadline); }
  Task<Status> quiesce(Instant deadline) override { return respond(Verb::kQuiesce, "", deadline); }
  Task<Status> resume(Instant deadline) override { return respond(Verb::kResume, "", deadline); }
  Task<Status> quiesce_device(std::string device_id, Instant deadline) override {
    return respond(Verb::kQuiesceDevice, std::move(device_id), deadline);
  }
  Task<Status> resume_device(std::string device_id, Instant deadline) override {
    return respond(Verb::kResumeDevice, std::move(device_id), deadline);
  }
  Task<Status> stop(Instant deadline) override {
    unblock(Verb::kFinishCalls);
    return respond(Verb::kStop, "", deadline);
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
  Task<Status> respond(Verb verb, std::string about_what, Instant deadline);

  asio::io_context& core_;
  std::map<Verb, Failure> failures_;
  std::map<Verb, std::vector<OneShot<bool>>> blocked_;
};

}  // namespace cardcage
