// Prepares and unprepares the claims of one driver, or the devices of one device-plugin resource.
//
// A prepare makes a plan, writes the intent, calls the modules, writes the record and the CDI file, and responds. An
// unprepare writes the intent, calls the modules, removes the CDI file and writes the release. If a crash cuts either
// off, the kubelet's next call repeats all of it; modules are idempotent. No call waits for a disk.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host/cdi/writer.h"
#include "host/claim/claim_host.h"
#include "host/claim/claim_plan.h"
#include "host/claim/claim_service.h"
#include "host/claim/claim_statuses.h"
#include "host/claim/device_descriptions.h"
#include "host/claim/device_directory.h"
#include "host/claim/misfits.h"
#include "host/config/config.h"
#include "host/core/clock.h"
#include "host/ledger/ledger.h"

namespace cardcage {

// Called when a call's turn comes, because other calls may have changed the facts that it was decided on. An error ends
// the call.
using TurnCheck = std::function<Status()>;

// Shared by the preparers of all drivers; everything outlives them and the run of the core.
struct ClaimEnvironment {
  asio::io_context& core;
  Ledger& ledger;
  const DeviceDirectory& devices;
  const CdiWriter& cdi;
  Clock& clock;
  const DeadlineConfig& deadlines;
  ClaimHost& host;
  FaultHook fault = {};
  // The configuration of the resource, which may change; null for a driver.
  const ResourceConfig* resource = nullptr;
  // Is told of each claim that was prepared or released; null for a resource, which has no claims in the cluster.
  ClaimStatuses* statuses = nullptr;
  // The durability of the record of a prepared claim, and of its release.
  Durability durability = Durability::kNode;
  // For error texts: the next step if a module is unavailable.
  std::string_view retry = "the kubelet tries again by itself";
  // True if the kubelet repeats a call that failed. If not, a call that its module did not survive is made once more.
  bool repeated = true;
};

// [core] Runs one operation per claim at a time. A second prepare of a claim joins the first. A prepare waits for an
// unprepare and the other way round. Different claims run in parallel.
//
// The deadline of a call is enforced here and nowhere else: run() waits for the operation until then. The operation
// itself runs on, so nothing that it awaits can hold a caller for longer.
class ClaimPreparer final : public ClaimService, public std::enable_shared_from_this<ClaimPreparer> {
 public:
  // Shared, because operations run on after their caller and keep their preparer alive.
  static std::shared_ptr<ClaimPreparer> create(std::string driver, ClaimPlanner planner, ClaimEnvironment environment);

  Task<Result<std::vector<PreparedDevice>>> prepare(ClaimRef claim, Instant deadline) override {
    return prepare_if(nullptr, std::move(claim), deadline);
  }
  Task<Status> unprepare(ClaimRef claim, Instant deadline) override;
  // Like prepare(), if `check` still allows it once the call does not wait for another one any more.
  Task<Result<std::vector<PreparedDevice>>> prepare_if(TurnCheck check, ClaimRef claim, Instant deadline);
  Task<Status> unprepare_if(TurnCheck check, ClaimRef claim, Instant deadline);
  // Prepares a claim again whose edits do not fit the node any more, as if the kubelet repeated its call.
  Task<void> refit(std::string claim_uid, Instant deadline);
  // Runs `work` alone: no other operation of the claim runs at the same time.
  Task<Status> run_alone(ClaimRef claim, std::function<Task<Status>()> work, Instant deadline = Instant::max());
  // Forgets a claim that its modules cannot release: removes its CDI file and its record. A module that still holds
  // something for it frees that at its next reconcile.
  Task<Status> drop(ClaimRef claim, Instant deadline);

 private:
  using Outcome = Result<std::vector<PreparedDevice>>;  // only a prepare has devices
  enum class Kind { kPrepare, kUnprepare, kDrop, kOther };
  struct Operation {
    Kind kind;
    std::string waits_for;    // the thing it waits for, for error texts
    std::string module = {};  // the module that executes a call for it
    std::vector<OneShot<Outcome>> callers;
    std::function<Task<Status>()> work = {};  // the work of kOther
    DeviceDescriptions described = {};        // the devices of the record being prepared
  };

  ClaimPreparer(std::string driver, ClaimPlanner planner, ClaimEnvironment environment);
  // Words for the log: success, and failure.
  static std::pair<std::string_view, std::string_view> words_of(Kind kind);
  void log_outcome(Kind kind, const ClaimRef& ref, const Outcome& outcome) const;
  Task<Outcome> run(Kind kind, TurnCheck check, ClaimRef ref, Instant deadline,
                    std::function<Task<Status>()> work = {});
  static Task<void> execute(std::shared_ptr<ClaimPreparer> self, std::shared_ptr<Operation> operation, ClaimRef ref,
                            Instant deadline);
  Task<Outcome> execute_prepare(Operation& operation, const ClaimRef& ref, Instant deadline);
  Task<Outcome> execute_unprepare(Operation& operation, const ClaimRef& ref, Instant deadline);
  Task<Outcome> execute_drop(const ClaimRef& ref);
  Outcome erase(const ClaimRef& ref) const;

  Task<Outcome> prepare_again(Operation& operation, const ClaimRef& ref, Misfit misfit, Instant deadline);
  Task<Outcome> prepare_anew(Operation& operation, const ClaimRef& ref, Instant deadline);
  Outcome repeat_outcome(const ClaimRecord& known) const;
  Task<Status> clear_leftovers(Operation& operation, const ClaimRecord& known, ClaimRecord& plan, Instant deadline);
  Task<Status> prepare_parts(Operation& operation, ClaimRecord& record, Instant deadline);
  Task<Status> prepare_part(Operation& operation, const ClaimRecord& record, ModulePart& part, Instant deadline);
  using FindModule = Result<std::shared_ptr<Module>> (DeviceDirectory::*)(const std::string&) const;
  template <class T, class Call>
  Task<Result<T>> call_module(FindModule find, std::string module, Call call, Instant deadline) const;
  // Adds the hooks that the containers need, and waits until the container runtime can start them.
  Task<Status> add_hooks(ClaimKey claim, bool moves_devices, ModulePart& part, Instant deadline) const;
  // Stores the journal that the module writes while it prepares its part.
  Status keep_journal(const ClaimKey& claim, ModulePart& part, std::string bytes) const;
  Task<void> roll_back(Operation& operation, ClaimRecord& record, std::size_t prepared, Instant deadline);
  Status commit(const ClaimRecord& record) const;
  Task<Status> unprepare_parts(Operation& operation, const ClaimRecord& record, Instant deadline);
  Task<Status> unprepare_part(Operation& operation, const ClaimRecord& record, const ModulePart& part,
                              Instant deadline);

  Task<Status> stop_services(const ClaimRecord& record, const ModulePart& part) const;
  void tell_status(const ClaimKey& claim) const;
  void reach(FaultPoint point) const;
  void notify_partitions(const ClaimRecord& record) const;
  Instant module_deadline(const Module& module) const;
  // The progress that the module reports of its call for the claim; empty if it reports none.
  std::string progress_text(const Operation& operation, const ClaimRef& ref) const;
  std::unexpected<Error> module_failed(Error error, const ModulePart& part, std::string_view verb) const;

  std::string driver_;
  ClaimPlanner planner_;
  ClaimEnvironment environment_;
  std::map<std::string, std::shared_ptr<Operation>> running_;  // by claim UID
  const std::shared_ptr<UnseenPaths> unseen_ =
      std::make_shared<UnseenPaths>(environment_.core, environment_.clock, environment_.ledger);
};

}  // namespace cardcage
