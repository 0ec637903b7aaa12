// The interface of a running module, wherever it runs (InProcessModule, RemoteModule).
//
// [core] Every member is called on the core; module threads are hidden behind this interface. Calls may overlap; the
// instance serialises them unless its module is concurrent. A call fails with kDeadlineExceeded as soon as its
// deadline passes, even if the module never returns.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "host/core/task.h"
#include "host/model/catalogue.h"
#include "host/model/cause.h"
#include "host/model/device.h"
#include "host/model/event.h"
#include "host/model/last_lines.h"
#include "host/model/module_ask.h"
#include "host/model/module_claim.h"
#include "host/model/option.h"
#include "host/model/pod_sandbox.h"
#include "host/model/progress.h"
#include "host/model/report.h"

namespace cardcage {

// For programming hardware. The kubelet does not wait for it: it repeats its call, which finds the result.
constexpr std::chrono::seconds kMaxClaimCallLimit{3600};

struct ModuleIdentity {
  std::string id, version, vendor;
  std::uint32_t abi_minor = 0;
  std::uint32_t state_version = 0;
  bool process_only = false, concurrent = false, no_prepare = false, has_check = false, has_quiesce = false,
       has_preferred = false, has_pre_start = false, has_reconcile = false, has_configure = false,
       has_quiesce_device = false, has_labels = false, has_catalogue = false, has_reset = false, has_bind = false,
       has_sandbox = false;
  std::vector<OptionDeclaration> options;
  std::vector<ParamsSchema> schemas;         // of the parameters of claims
  std::vector<MetricDeclaration> metrics;    // none without cage.metrics
  std::vector<CauseDeclaration> causes;      // of the health of its devices
  std::optional<WatchDeclaration> watch;     // nothing without cage.watch
  std::chrono::seconds claim_call_limit{0};  // of prepare and unprepare, if it needs more than the host allows all
  std::string sha256;                        // of the file, hex
};

// Callbacks for what a module reports by itself. [core]
struct ModuleEvents {
  std::function<void()> rescan;
  std::function<void(std::string device_id, Health)> health;
  // A descriptor of cage.poll is ready. The module does not hear of it again until deliver_events() has told it.
  std::function<void(std::int32_t descriptor)> descriptor = {};
  // The instance is stuck or gone and cannot be used any more. The error says why, for people.
  std::function<void(Error)> lost;
};

// Says, for people, why an instance may still hold hardware after its owner released it; returns nothing once the
// instance is gone for good. A null function stands for an instance that is gone. [core]
using Leftover = std::function<std::optional<std::string>()>;

// A call that the module has not answered.
struct BusyModule {
  std::string call;  // as vendors know it: "prepare"
  Instant since;
  Instant deadline;
  std::optional<Progress> progress = {};
};

class Module {
 public:
  virtual ~Module() = default;

  virtual const ModuleIdentity& identity() const = 0;

  // Calls create and start. Must be the first call, and must succeed before any other call.
  virtual Task<Status> start(ModuleEvents events, Instant deadline) = 0;
  virtual Task<Result<SnapshotPtr>> discover(Instant deadline) = 0;
  // `journal` is called for what the module writes down before the call ends. Without it the module cannot.
  virtual Task<Result<PreparedEdits>> prepare(ModuleClaim claim, Instant deadline, JournalWriter journal = {}) = 0;
  virtual Task<Status> unprepare(ModuleClaim claim, Instant deadline) = 0;
  // A pod waits for devices of the claim that have a binding: goes on with making them ready, and tells how far they
  // are. Fails with kUnimplemented at once if the module has no cage.bind.
  virtual Task<Result<BindProgress>> bind(ModuleClaim claim, Instant deadline) = 0;
  // Moves devices of the prepared claim to a pod and takes them back (rule R28 of abi/RULES.md). Fail with
  // kUnimplemented at once if the module has no cage.sandbox.
  virtual Task<Status> attach(ModuleClaim claim, SandboxedPod pod, Instant deadline) = 0;
  virtual Task<Status> detach(ModuleClaim claim, SandboxedPod pod, Instant deadline) = 0;
  // All options from now on; unless it succeeds, the instance goes on with those that it has. Fails with kUnimplemented
  // at once if the module has no cage.configure.
  virtual Task<Status> configure(OptionValues options, Instant deadline) = 0;
  // Frees what no live claim holds. Succeeds at once if the module has no cage.reconcile.
  virtual Task<Status> reconcile(std::vector<ModuleClaim> live, Instant deadline) = 0;
  // Asks which devices a container that wants `want` devices should get. `required` is a subset of `available`; both
  // name each device once. Returns at most `want` ids out of `available`; they may be too few, or lack required ones.
  // Fails with kUnimplemented at once if the module has no cage.preferred.
  virtual Task<Result<std::vector<std::string>>> choose(std::vector<std::string> available,
                                                        std::vector<std::string> required, std::size_t want,
                                                        Instant deadline) = 0;
  // Called before each start of a container that has the prepared claim's device (device-plugin API only, rule R15 of
  // abi/RULES.md). Fails with kUnimplemented at once if the module has no cage.pre_start.
  virtual Task<Status> pre_start(ModuleClaim claim, Instant deadline) = 0;
  // Polls the health of these devices, one after the other, until the deadline. The results arrive through
  // ModuleEvents::health. Returns how many it got to, whether their checks failed or not; the error of the first one
  // that failed is logged.
  virtual Task<Result<std::size_t>> check(std::vector<std::string> device_ids, Instant deadline) = 0;
  // Resets the hardware of the device and of its partitions. Fails with kUnimplemented at once if the module has no
  // cage.reset.
  virtual Task<Status> reset_device(std::string device_id, Instant deadline) = 0;
  // Every current sample. Fails with kUnimplemented at once if the module declares no metric.
  virtual Task<Result<MetricSamplesPtr>> collect_metrics(Instant deadline) = 0;
  // Every label that the node should have. Fails with kUnimplemented at once if the module has no cage.labels.
  virtual Task<Result<NodeLabels>> collect_labels(Instant deadline) = 0;
  // Everything that claims may name. Fails with kUnimplemented at once if the module has no cage.catalogue.
  virtual Task<Result<Catalogue>> collect_catalogue(Instant deadline) = 0;
  // Tells the module what it waits for; nothing of it is told again. Fails with kUnimplemented at once if the module
  // has no cage.watch.
  virtual Task<Status> deliver_events(EventBatch batch, Instant deadline) = 0;
  // Returns once no call is open. After the deadline, the error names a call that still is. Fails when the instance is
  // lost or stopped.
  virtual Task<Status> finish_calls(Instant deadline) = 0;
  virtual Task<Status> quiesce(Instant deadline) = 0;
  virtual Task<Status> resume(Instant deadline) = 0;
  // The same for one device and its partitions. Fail with kUnimplemented at once if the module has no cage.quiesce.
  virtual Task<Status> quiesce_device(std::string device_id, Instant deadline) = 0;
  virtual Task<Status> resume_device(std::string device_id, Instant deadline) = 0;
  // Calls stop and destroy. No event follows. Idempotent.
  virtual Task<Status> stop(Instant deadline) = 0;
  // The call that the instance has been busy with for longest, if any is open.
  virtual std::optional<BusyModule> busy() const = 0;
  // How far the open call for this claim is; nothing if there is none, or if the module does not tell.
  virtual std::optional<Progress> progress(const std::string& claim_uid) const = 0;
  // The last lines that the module logged or printed, oldest first.
  virtual std::vector<SaidLine> last_lines() const = 0;
  // Valid after stop(). The function may outlive this object.
  virtual Leftover leftover() const = 0;
};

}  // namespace cardcage
