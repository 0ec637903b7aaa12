// The helper daemons of claims (cage.service).
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/core/clock.h"
#include "host/core/fault_point.h"
#include "host/core/wakeup.h"
#include "host/model/service_report.h"
#include "host/process/child_process.h"
#include "host/services/service_output.h"
#include "host/services/service_records.h"

namespace cardcage {

// [core] Runs the services of all modules. A service belongs to a claim and runs until the claim is released, across
// restarts of its module and of the daemon, in a control group of its own. One that exits is started again. The owner
// keeps the object until the core has run for the last time.
class Services {
 public:
  struct Places {
    std::filesystem::path records, outputs;  // folders on a tmpfs, created with the first service
    std::filesystem::path groups;            // parent folder of the control groups; empty = groups are not available
    std::string boot_id;
    bool tied = false;  // services end with this process
  };
  Services(asio::io_context& core, Clock& clock, Places places, FaultHook fault = {});

  // Returns the command in the form that the module may run now, or the refusal.
  using Judge = std::function<Result<ProgramCommand>(const ServiceKey&, const ProgramCommand&)>;

  // Adopts the services of earlier daemons, ends those whose claim is not held any more, and judges the others. Must be
  // the first call.
  void adopt(const std::function<bool(const ServiceKey&)>& is_held, const Judge& judge);
  // Stops each service that its module may not run any more, and starts it again once the module may.
  void judge(const Judge& judge);
  // Returns once the service runs. Does nothing if it already runs with the same command; ends it first if its command
  // differs.
  Task<Status> start(ServiceKey key, ProgramCommand command, Instant deadline);
  // Sends SIGTERM, and SIGKILL after a while. Succeeds once no process of the service is left, also if there was none.
  Task<Status> stop(ServiceKey key, Instant deadline);
  // Stops all services that the module started for the claim.
  Task<Status> stop_all(std::string module, std::string claim_uid, Instant deadline);

  // Rewrites record files that were removed from outside.
  Status restore() const;

  std::vector<ServiceReport> of_claim(const std::string& uid) const;
  std::vector<ServiceReport> of_module(const std::string& module) const;
  // For an operator: reasons why a module may not run its services any more.
  std::vector<std::string> refusals() const;
  // Fails if the claim lacks a service because its module may not run it any more.
  Status check(const std::string& claim_uid) const;

 private:
  // Its coroutine run() makes all changes; others set `wanted` and wake it.
  struct Service {
    Service(asio::io_context& core, ServiceRecord its) : record(std::move(its)), wake(core) {}
    ServiceRecord record;
    bool wanted = true;
    Wakeup wake;
    std::shared_ptr<ChildProcess> process;  // null = not running
    std::shared_ptr<ServiceOutput> output;
    std::uint32_t restarts = 0;
    std::string end;                                  // why it is not running
    std::string refused;                              // why it may not run; empty = it may run
    std::vector<OneShot<Status>> starting, stopping;  // waiting callers
  };
  using ServicePtr = std::shared_ptr<Service>;

  Task<void> run(ServicePtr service);
  Task<Status> launch(ServicePtr service);
  // Returns when the process has exited or the service must end.
  Task<void> await_end(Service& service);
  // Ends the process, and returns when the service may run again or is not wanted any more.
  Task<void> hold_back(Service& service);
  // Ends the process and all its forks.
  Task<void> end(Service& service);
  // Sets the process of the service, and wakes the service when the process has exited.
  void watch(const ServicePtr& service, std::shared_ptr<ChildProcess> process, OneShot<bool> ended);
  void adopt(ServiceRecord record, bool held, const Judge& judge);
  static void judge(Service& service, const Judge& judge);
  static ServiceReport report(const Service& service);
  std::shared_ptr<ControlGroup> make_group(ServiceRecord& record);
  void reach(FaultPoint point) const;
  std::filesystem::path output_of(const ServiceKey& key) const { return places_.outputs / (key.digest() + ".out"); }

  asio::io_context& core_;
  Clock& clock_;
  const Places places_;
  const FaultHook fault_;
  const ServiceRecords records_;
  std::map<ServiceKey, ServicePtr> services_;
  std::uint64_t groups_made_ = 0;
};

}  // namespace cardcage
