// Prepares and unprepares the claims of one driver, or the devices of one device-plugin resource: a plan of what it is
// about, the modules, the CDI file, the ledger.
//
// Order of a prepare: plan, intent in the ledger, modules, CDI file and durable record together, answer. Of an
// unprepare: intent, modules, CDI file, durable release. Whatever a crash cuts off is repeated as a whole by the
// kubelet's next call; modules are idempotent.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "host/cdi/writer.h"
#include "host/claim/claim_plan.h"
#include "host/claim/claim_service.h"
#include "host/claim/device_directory.h"
#include "host/core/clock.h"
#include "host/ledger/ledger.h"

namespace cardcage {

// Shared by the preparers of all drivers; everything outlives them and the run of the core.
struct ClaimEnvironment {
  asio::io_context& core;
  Ledger& ledger;
  const DeviceDirectory& devices;
  const CdiWriter& cdi;
  Clock& clock;
  FaultHook fault = {};
  // Of the record that says what is prepared, and of its release.
  Durability durability = Durability::kNode;
  // What happens next if a module is away, for people.
  std::string_view retry = "the kubelet tries again by itself";
  // A module may work on when the kubelet's call has ended; the next call then finds the result.
  Duration module_limit = std::chrono::minutes(2);
};

// [core] One operation per claim at a time. A second prepare of a claim gets the answer of the first, a prepare
// waits for an unprepare and the other way round; different claims go in parallel.
class ClaimPreparer final : public ClaimService, public std::enable_shared_from_this<ClaimPreparer> {
 public:
  // Shared: operations go on after their caller and keep their preparer alive.
  static std::shared_ptr<ClaimPreparer> create(std::string driver, ClaimPlanner planner, ClaimEnvironment environment);

  Task<Result<std::vector<PreparedDevice>>> prepare(ClaimRef claim, Instant deadline) override;
  Task<Status> unprepare(ClaimRef claim, Instant deadline) override;

 private:
  using Answer = Result<std::vector<PreparedDevice>>;  // of an unprepare: no device
  enum class Kind { kPrepare, kUnprepare };
  struct Operation {
    Kind kind;
    std::string waits_for;  // for people
    std::vector<OneShot<Answer>> waiters;
    std::size_t waiting = 0;  // of them, those whose deadline has not passed
  };

  ClaimPreparer(std::string driver, ClaimPlanner planner, ClaimEnvironment environment);
  Task<Answer> run(Kind kind, ClaimRef ref, Instant deadline);
  static Task<void> work(std::shared_ptr<ClaimPreparer> self, std::shared_ptr<Operation> operation, ClaimRef ref,
                         Instant deadline);
  Task<Answer> prepare_now(Operation& operation, const ClaimRef& ref, Instant deadline);
  Task<Answer> unprepare_now(Operation& operation, const ClaimRef& ref, Instant deadline);

  Answer answer_again(const ClaimRecord& known) const;
  Task<Status> clear_leftovers(Operation& operation, const ClaimRecord& known, ClaimRecord& plan, Instant deadline);
  Task<Status> prepare_parts(Operation& operation, ClaimRecord& record, Instant deadline);
  Task<Status> prepare_part(Operation& operation, const ClaimRecord& record, ModulePart& part, Instant deadline);
  Task<void> roll_back(Operation& operation, ClaimRecord& record, std::size_t prepared, Instant deadline);
  Task<Status> commit(Operation& operation, const ClaimRecord& record);
  Task<Status> unprepare_parts(Operation& operation, const ClaimRecord& record, Instant deadline);
  Task<Status> unprepare_part(Operation& operation, const ClaimRecord& record, const ModulePart& part,
                              Instant deadline);

  void reach(FaultPoint point) const;
  Instant module_deadline(Instant deadline) const;
  std::unexpected<Error> module_failed(Error error, const ModulePart& part, std::string_view verb) const;

  std::string driver_;
  ClaimPlanner planner_;
  ClaimEnvironment environment_;
  std::map<std::string, std::shared_ptr<Operation>> running_;  // by claim UID
};

}  // namespace cardcage
