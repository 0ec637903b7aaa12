// Starts a child process of the daemon that it can watch and end.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/core/task.h"
#include "host/process/child_process.h"
#include "host/process/spawn_plan.h"

namespace cardcage {

struct StartedChild {
  std::shared_ptr<ChildProcess> process;
  UniqueFd end;  // readable once the child has exited
};

// [core] The child joins `group`, unless it is null or refuses, which is logged. A child that cannot be watched is
// killed and reaped. `arguments` follow the name of the file.
Result<StartedChild> start_child(SpawnPlan& plan, const std::filesystem::path& file, std::vector<std::string> arguments,
                                 std::vector<std::string> environment, std::shared_ptr<ControlGroup> group);

// [core] Watches a process that an earlier daemon started; nothing if `pid` is not the process that began then.
std::optional<StartedChild> adopt_child(pid_t pid, const std::string& begun, std::shared_ptr<ControlGroup> group);

// Returns the start of the process in clock ticks after the boot, which with the pid identifies it. Empty if it is
// gone.
std::string begin_of(pid_t pid);

// [core] The event comes once the descriptor is readable.
Result<OneShot<bool>> readable_event(asio::io_context& core, UniqueFd descriptor);

// [core] The event comes once the child has exited. A child that cannot be watched is killed and reaped.
Result<OneShot<bool>> end_event(asio::io_context& core, StartedChild& child);

}  // namespace cardcage
