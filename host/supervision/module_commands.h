// Executes the commands of operators for one module, or for one of its devices on behalf of the module.
#pragma once

#include <optional>

#include "host/supervision/command.h"
#include "host/supervision/replacement.h"

namespace cardcage {

// [core] One command at a time. It waits until the supervisor executes it, at a time that suits the module's state.
class ModuleCommands {
 public:
  // All arguments outlive this.
  ModuleCommands(SupervisedModule& module, ModuleDevices& devices, Instances& instances, Replacement& replacement)
      : module_(module), devices_(devices), instances_(instances), replacement_(replacement) {}

  // See Supervisor.
  Task<Status> execute(ModuleCommand command);
  bool pending() const { return pending_.has_value(); }

  // The supervisor calls one of these for a pending command. execute_while_ready() returns true if the instance
  // continues.
  Task<bool> execute_while_ready();
  Task<void> execute_while_away();
  void execute_while_quiesced();
  void refuse_while_stuck();
  // Completes a command that waited for a start, with its outcome.
  void end_start(const Status& outcome);
  // Fails the pending command, because the supervisor ends.
  void stop();

 private:
  struct Pending {
    ModuleCommand command;
    Instant deadline;
    OneShot<Status> done;
    bool begun = false;
  };

  void respond(Status outcome);
  void begin_restart();
  Status mark_quiesced();
  Status unmark_quiesced();
  Task<void> quiesce_instance();
  Task<Status> free_hardware(Instant deadline);
  Task<void> execute_for_device();
  Result<QuiesceMark> device_mark(const ModuleCommand& command) const;
  Task<Status> quiesce_device(QuiesceMark mark);
  Task<Status> undo_device_quiesce(QuiesceMark mark, Error why);
  Task<Status> resume_device(QuiesceMark mark);

  SupervisedModule& module_;
  ModuleDevices& devices_;
  Instances& instances_;
  Replacement& replacement_;
  std::optional<Pending> pending_;
};

}  // namespace cardcage
