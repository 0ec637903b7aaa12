// The interface of a running module, in the daemon or in a worker (InProcessModule, RemoteModule).
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

// Long enough to program hardware. The kubelet does not wait that long: it repeats its call, which finds the result.
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
  std::vector<ParamsSchema> schemas;         // schemas of claim parameters
  std::vector<MetricDeclaration> metrics;    // empty without cage.metrics
  std::vector<CauseDeclaration> causes;      // causes of device health
  std::optional<WatchDeclaration> watch;     // unset without cage.watch
  std::chrono::seconds claim_call_limit{0};  // limit of prepare and unprepare, if longer than the host's default
  std::string sha256;                        // hash of the file, hex
};

// Callbacks for reports that the module makes by itself. [core]
struct ModuleEvents {
  std::function<void()> rescan;
  std::function<void(std::string device_id, Health)> health;
  // A descriptor of cage.poll is ready. The module is not told of it again until deliver_events() has delivered it.
  std::function<void(std::int32_t descriptor)> descriptor = {};
  // The instance is stuck or gone and cannot be used any more. The error gives the reason, for people.
  std::function<void(Error)> lost;
};

// Explains, for people, why an instance may still hold hardware after its owner released it; returns nothing once the
// instance is gone for good. A null function stands for an instance that is gone. [core]
using Leftover = std::function<std::optional<std::string>()>;

// A call from which the module has not returned.
struct BusyModule {
  std::string call;  // the vendor's name of the call: "prepare"
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
  // `journal` is called with the bytes that the module journals before the call ends. Without it the module cannot
  // journal.
  virtual Task<Result<PreparedEdits>> prepare(ModuleClaim claim, Instant deadline, JournalWriter journal = {}) = 0;
  virtual Task<Status> unprepare(ModuleClaim claim, Instant deadline) = 0;
  // Called while a pod waits for devices of the claim that have a binding: continues to make them ready, and returns
  // their progress. Fails with kUnimplemented at once if the module has no cage.bind.
  virtual Task<Result<BindProgress>> bind(ModuleClaim claim, Instant deadline) = 0;
  // Moves devices of the prepared claim to a pod and takes them back (rule R28 of abi/RULES.md). Fail with
  // kUnimplemented at once if the module has no cage.sandbox.
  virtual Task<Status> attach(ModuleClaim claim, SandboxedPod pod, Instant deadline) = 0;
  virtual Task<Status> detach(ModuleClaim claim, SandboxedPod pod, Instant deadline) = 0;
  // Replaces all options; if it fails, the instance keeps its current ones. Fails with kUnimplemented at once if the
  // module has no cage.configure.
  virtual Task<Status> configure(OptionValues options, Instant deadline) = 0;
  // Frees everything that no live claim holds. Succeeds at once if the module has no cage.reconcile.
  virtual Task<Status> reconcile(std::vector<ModuleClaim> live, Instant deadline) = 0;
  // Chooses the devices for a container that requests `want` of them. `required` is a subset of `available`; both name
  // each device once. Returns at most `want` ids out of `available`; they may be too few, or lack required ones. Fails
  // with kUnimplemented at once if the module has no cage.preferred.
  virtual Task<Result<std::vector<std::string>>> choose(std::vector<std::string> available,
                                                        std::vector<std::string> required, std::size_t want,
                                                        Instant deadline) = 0;
  // Called before each start of a container that has the prepared claim's device (device-plugin API only, rule R15 of
  // abi/RULES.md). Fails with kUnimplemented at once if the module has no cage.pre_start.
  virtual Task<Status> pre_start(ModuleClaim claim, Instant deadline) = 0;
  // Polls the health of these devices, one after the other, until the deadline. The results arrive through
  // ModuleEvents::health. Returns the number of devices that were checked, including failed checks; the error of the
  // first failed check is logged.
  virtual Task<Result<std::size_t>> check(std::vector<std::string> device_ids, Instant deadline) = 0;
  // Resets the hardware of the device and of its partitions. Fails with kUnimplemented at once if the module has no
  // cage.reset.
  virtual Task<Status> reset_device(std::string device_id, Instant deadline) = 0;
  // Returns every current sample. Fails with kUnimplemented at once if the module declares no metric.
  virtual Task<Result<MetricSamplesPtr>> collect_metrics(Instant deadline) = 0;
  // Returns every label that the node should have. Fails with kUnimplemented at once if the module has no cage.labels.
  virtual Task<Result<NodeLabels>> collect_labels(Instant deadline) = 0;
  // Returns every entry that claims may name. Fails with kUnimplemented at once if the module has no cage.catalogue.
  virtual Task<Result<Catalogue>> collect_catalogue(Instant deadline) = 0;
  // Delivers events that the module waits for; an event is never delivered twice. Fails with kUnimplemented at once if
  // the module has no cage.watch.
  virtual Task<Status> deliver_events(EventBatch batch, Instant deadline) = 0;
  // Returns once no call is open. After the deadline, the error names a call that is still open. Fails when the
  // instance is lost or stopped.
  virtual Task<Status> finish_calls(Instant deadline) = 0;
  virtual Task<Status> quiesce(Instant deadline) = 0;
  virtual Task<Status> resume(Instant deadline) = 0;
  // Do the same for one device and its partitions. Fail with kUnimplemented at once if the module has no cage.quiesce.
  virtual Task<Status> quiesce_device(std::string device_id, Instant deadline) = 0;
  virtual Task<Status> resume_device(std::string device_id, Instant deadline) = 0;
  // Calls stop and destroy. No event follows. Idempotent.
  virtual Task<Status> stop(Instant deadline) = 0;
  // The call that the instance has been busy with for longest, if any is open.
  virtual std::optional<BusyModule> busy() const = 0;
  // The progress of the open call for this claim; nothing if no call is open or the module reports no progress.
  virtual std::optional<Progress> progress(const std::string& claim_uid) const = 0;
  // The last lines that the module logged or printed, oldest first.
  virtual std::vector<SaidLine> last_lines() const = 0;
  // Valid after stop(). The function may outlive this object.
  virtual Leftover leftover() const = 0;
};

}  // namespace cardcage
