// The interface of a running module, wherever it runs (InProcessModule, RemoteModule).
//
// [core] Every member is called on the core; module threads are hidden behind this interface. Calls may overlap; the
// instance serialises them unless its module is concurrent. A call fails with kDeadlineExceeded as soon as its
// deadline passes, even if the module never returns.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "host/core/task.h"
#include "host/model/device.h"
#include "host/model/last_lines.h"
#include "host/model/module_claim.h"
#include "host/model/option.h"

namespace cardcage {

struct ModuleIdentity {
  std::string id, version, vendor;
  std::uint32_t abi_minor = 0;
  std::uint32_t state_version = 0;
  bool process_only = false, concurrent = false, has_check = false, has_quiesce = false, has_preferred = false,
       has_pre_start = false, has_reconcile = false;
  std::vector<OptionDeclaration> options, params;
  std::string params_api_version, params_kind;  // if not empty, every claim's parameters must name them
  std::string sha256;                           // of the file, hex
};

// Callbacks for what a module reports by itself. [core]
struct ModuleEvents {
  std::function<void()> rescan;
  std::function<void(std::string device_id, Health)> health;
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
};

class Module {
 public:
  virtual ~Module() = default;

  virtual const ModuleIdentity& identity() const = 0;

  // Calls create and start. Must be the first call, and must succeed before any other call.
  virtual Task<Status> start(ModuleEvents events, Instant deadline) = 0;
  virtual Task<Result<SnapshotPtr>> discover(Instant deadline) = 0;
  virtual Task<Result<PreparedEdits>> prepare(ModuleClaim claim, Instant deadline) = 0;
  virtual Task<Status> unprepare(ModuleClaim claim, Instant deadline) = 0;
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
  // Polls one device's health. The result arrives through ModuleEvents::health.
  virtual Task<Status> check(std::string device_id, Instant deadline) = 0;
  // Returns once no call is open. After the deadline, the error names a call that still is. Fails when the instance is
  // lost or stopped.
  virtual Task<Status> finish_calls(Instant deadline) = 0;
  virtual Task<Status> quiesce(Instant deadline) = 0;
  virtual Task<Status> resume(Instant deadline) = 0;
  // Calls stop and destroy. No event follows. Idempotent.
  virtual Task<Status> stop(Instant deadline) = 0;
  // The call that the instance has been busy with for longest, if any is open.
  virtual std::optional<BusyModule> busy() const = 0;
  // The last lines that the module logged or printed, oldest first.
  virtual std::vector<SaidLine> last_lines() const = 0;
  // Valid after stop(). The function may outlive this object.
  virtual Leftover leftover() const = 0;
};

}  // namespace cardcage
