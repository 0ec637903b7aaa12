// Runs a program of the node for a module: a child of the daemon, bounded in time and output.
#pragma once

#include <functional>
#include <memory>

#include "host/access/program_rules.h"
#include "host/core/clock.h"
#include "host/core/task.h"
#include "host/model/module_ask.h"
#include "host/process/child_process.h"

namespace cardcage {

// Limit for each of the two outputs; the excess is dropped.
constexpr std::size_t kMaxProgramOutput = 1u << 20;

// [core] The child has its input, no descriptor of ours, and the given environment. It is killed at the
// deadline, or by the caller of `started`; its forks are killed once it ends, as far as `group` holds them. Fails if
// the program cannot be started, or if the kernel does not end it. All arguments live until the task ends.
Task<Result<ExecResult>> run_program(asio::io_context& core, Clock& clock, ProgramCommand command,
                                     std::shared_ptr<ControlGroup> group, Instant deadline,
                                     std::function<void(std::shared_ptr<ChildProcess>)> started);

}  // namespace cardcage
