// Numbered calls to a worker, their answers, and the worker's unsolicited reports; built on WorkerProcess.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "host/core/line_budget.h"
#include "host/core/wakeup.h"
#include "host/model/last_lines.h"
#include "host/module/worker_process.h"
#include "host/wire/calls.h"

namespace cardcage {

// [core] A worker that does not answer a ping for 10 s is killed: it is stopped or starved, and no call would ever end.
// One that a debugger holds is spared until 10 s after the debugger has left.
class WorkerLink {
 public:
  struct Listener {
    // A report other than an answer or a line for the log; null if the worker has not started its module.
    std::function<void(const wire::Report&)> reported;
    // The worker has exited: how it ended, and its last printed lines.
    std::function<void(const std::string& how)> ended;
  };
  // `module` is the module's name in the configuration, for the lines that it logs and prints.
  static Result<std::unique_ptr<WorkerLink>> start(asio::io_context& core, Clock& clock, std::string module,
                                                   const WorkerProcess::Program& program, int image);
  ~WorkerLink();
  WorkerLink(const WorkerLink&) = delete;
  WorkerLink& operator=(const WorkerLink&) = delete;

  // `answered` is called with each answer: any number of partial ones, and a final one, which ends the call. It is
  // never called after the worker has exited. Numbers rise from call to call.
  Status call(std::uint64_t number, wire::Request request, Descriptors descriptors,
              std::function<void(const wire::Answer&)> answered);
  // Sends a request without an answer: a part of the next call, or a cancel.
  Status tell(std::uint64_t number, wire::Request request, Descriptors descriptors = {});
  void listen(Listener listener) { listener_ = std::move(listener); }
  void kill() { process_->kill(); }

  bool is_open(std::uint64_t number) const { return open_.contains(number); }
  bool has_ended() const { return process_->has_ended(); }
  // Set when the worker has exited.
  const OneShot<bool>& over() const { return over_; }
  // Returns the last lines that it logged and printed.
  std::vector<SaidLine> last_lines() const { return last_lines_.all(); }
  // Returns the last few lines that it printed, oldest first.
  const std::deque<std::string>& last_printed() const { return last_printed_; }
  const WorkerProcess& process() const { return *process_; }

 private:
  struct Open {
    std::function<void(const wire::Answer&)> answered;
    std::size_t size = 0;  // bytes of the answers so far
  };
  // Shared with the coroutine that pings, which may outlive the link by a turn of the core.
  struct Pings {
    Pings(asio::io_context& core, WorkerLink* owner) : changed(core), link(owner) {}
    Wakeup changed;
    WorkerLink* link;  // null once the link is gone
    bool unanswered = false;
  };
  WorkerLink(asio::io_context& core, Clock& clock, std::string module)
      : clock_(clock), module_(std::move(module)), pings_(std::make_shared<Pings>(core, this)), over_(core) {}
  static Task<void> send_pings(std::shared_ptr<Pings> pings, Clock& clock);
  // Returns true if a silent worker must not be killed yet: a debugger is attached, or was at the last check.
  bool spare_traced();
  void take_report(const wire::Report& report);
  void take_answer(const wire::Answer& answer);
  void log_line(const wire::LogLine& line);
  void note_printed(const std::string& line);
  void end(const std::string& how);

  Clock& clock_;
  const std::string module_;
  const std::shared_ptr<Pings> pings_;
  std::string why_killed_;  // if the link itself killed the worker
  bool traced_ = false;     // a debugger was attached at the last missed ping
  std::shared_ptr<WorkerProcess> process_;
  Listener listener_;
  std::map<std::uint64_t, Open> open_;
  std::deque<std::string> last_printed_;
  LastLines last_lines_;
  LineBudget print_budget_, log_budget_;
  OneShot<bool> over_;
};

}  // namespace cardcage
