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

#include "cardcage/module.h"
#include "host/core/task.h"
#include "host/model/cause.h"
#include "host/model/last_lines.h"
#include "host/model/module_ask.h"
#include "host/model/module_call.h"
#include "host/model/progress.h"

namespace cardcage {

// Long enough to program hardware. The kubelet does not wait that long: it repeats its call, which finds the result.
constexpr std::chrono::seconds kMaxClaimCallLimit{3600};

// The version of the module ABI that a module was built for.
struct AbiVersion {
  std::uint32_t major = CAGE_ABI_MAJOR, minor = 0;
  std::string to_string() const { return fmt::format("{}.{}", major, minor); }
  friend bool operator==(const AbiVersion&, const AbiVersion&) = default;
};

struct ModuleIdentity {
  std::string id, version, vendor;
  AbiVersion abi;
  std::uint32_t state_version = 0;
  bool process_only = false, concurrent = false, no_prepare = false, has_check = false, has_quiesce = false;
  FamilySet families;  // has cage.metrics only if metrics are declared
  std::vector<OptionDeclaration> options;
  std::vector<ParamsSchema> schemas;         // schemas of claim parameters
  std::vector<MetricDeclaration> metrics;    // empty without cage.metrics
  std::vector<CauseDeclaration> causes;      // causes of device health
  std::optional<WatchDeclaration> watch;     // unset without cage.watch
  std::chrono::seconds claim_call_limit{0};  // limit of prepare and unprepare, if longer than the host's default
  std::string sha256;                        // hash of the file, hex

  bool has(Family family) const { return families.has(family); }
};

// Callbacks for reports that the module makes by itself. [core]
struct ModuleEvents {
  std::function<void()> rescan;
  std::function<void(std::string device_id, Health)> health;
  // A descriptor of cage.poll is ready. The module is not told of it again until EventsCall has delivered it.
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

  // Makes StartCall with the configured options. Must be the first call, and must succeed before any other call.
  virtual Task<Status> start(ModuleEvents events, Instant deadline) = 0;
  // Makes a call other than StartCall and StopCall. `journal` is called with the bytes that the module journals before
  // the call ends; without it the module cannot journal.
  template <class Call>
  Task<Result<typename Call::Reply>> call(Call call, Instant deadline, JournalWriter journal = {}) {
    ModuleCall any = std::move(call);  // GCC 12 destroys such a temporary of a co_await twice
    auto reply = co_await execute(std::move(any), deadline, std::move(journal));
    if (!reply) co_return std::unexpected(std::move(reply.error()));
    if constexpr (std::is_void_v<typename Call::Reply>)
      co_return Status{};
    else
      co_return std::get<typename Call::Reply>(std::move(*reply));
  }
  virtual Task<Result<ModuleReply>> execute(ModuleCall call, Instant deadline, JournalWriter journal) = 0;
  // Returns once no call is open. After the deadline, the error names a call that is still open. Fails when the
  // instance is lost or stopped.
  virtual Task<Status> finish_calls(Instant deadline) = 0;
  // Makes StopCall. No event follows. Idempotent.
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
