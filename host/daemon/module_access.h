// The means of the node that modules may use beyond their instances: control groups, writes, driver switches, services,
// the kernel's events, and the marks of operators.
#pragma once

#include <memory>

#include "host/access/writes.h"
#include "host/events/event_sources.h"
#include "host/ledger/ledger.h"
#include "host/process/worker_groups.h"
#include "host/services/services.h"
#include "host/supervision/quiesce_marks.h"
#include "host/supervision/supervisor.h"

namespace cardcage {

// [core] Its folders are in run_dir: they end with the boot, and must not wait for a disk.
class ModuleAccess {
 public:
  // Adopts the services of earlier daemons. All arguments outlive it; `config` is the configuration in effect.
  ModuleAccess(asio::io_context& core, Clock& clock, const Config& config, const Ledger& ledger,
               const FaultHook& fault);

  Supervisor::Loader loader();
  QuiesceMarks& quiesced() { return quiesced_; }
  EventSources& events() { return events_; }
  const EventSources& events() const { return events_; }
  StuckDevices& stuck() const { return *writes_->stuck; }
  Services& services() const { return *services_; }
  // Judges the running services by the configuration in effect.
  void judge_services() const { services_->judge(judge_); }
  // Returns the results of restoring files that other programs removed.
  std::vector<Status> restore();

 private:
  // A service of a module that drains keeps its permissions. One that was adopted may be another module's now.
  Result<ProgramCommand> judge(const ServiceKey& service, const ProgramCommand& command) const;

  asio::io_context& core_;
  Clock& clock_;
  const Config& config_;
  WorkerGroups groups_;
  const std::shared_ptr<HardwareWrites> writes_;
  QuiesceMarks quiesced_;
  EventSources events_;
  bool adopting_ = true;
  const Services::Judge judge_;
  const std::shared_ptr<Services> services_;
};

}  // namespace cardcage
