// Calls to a worker and what it says unasked: messages with numbers, on top of the process.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "host/core/wakeup.h"
#include "host/instance/line_budget.h"
#include "host/model/last_lines.h"
#include "host/module/worker_process.h"

namespace cardcage {

// Everything that came back for one call: the last one says how it went, those before it carry parts.
using Answers = std::vector<wire::Answer>;

// [core] A worker that does not answer a ping for 10 s is killed: it is stopped, or starved, and no call would
// come to an end.
class WorkerLink {
 public:
  struct Listener {
    std::function<void(const wire::Health&)> health;
    std::function<void()> rescan;
    // The worker is gone; how, and what it printed last.
    std::function<void(const std::string& how)> ended;
  };
  // `module` is its name in the configuration, for the lines that it logs and prints.
  static Result<std::unique_ptr<WorkerLink>> start(asio::io_context& core, Clock& clock, std::string module,
                                                   const WorkerProcess::Program& program, int image);
  ~WorkerLink();
  WorkerLink(const WorkerLink&) = delete;
  WorkerLink& operator=(const WorkerLink&) = delete;

  // `answered` is called once, unless the worker ends before; numbers rise from call to call.
  Status call(std::uint64_t number, wire::Request request, std::function<void(Answers)> answered);
  // A part of the next call, or a cancel: nothing comes back.
  Status tell(std::uint64_t number, wire::Request request);
  void listen(Listener listener) { listener_ = std::move(listener); }
  void kill() { process_->kill(); }

  // The module gets its calls one after the other.
  bool is_running(std::uint64_t number) const { return !open_.empty() && open_.begin()->first == number; }
  bool is_open(std::uint64_t number) const { return open_.contains(number); }
  bool has_ended() const { return process_->has_ended(); }
  // Set when the worker is gone.
  const OneShot<bool>& over() const { return over_; }
  // Logged and printed.
  std::vector<SaidLine> last_lines() const { return last_lines_.all(); }
  const WorkerProcess& process() const { return *process_; }

 private:
  struct Open {
    std::function<void(Answers)> answered;
    Answers answers;
    std::size_t size = 0;
  };
  WorkerLink(asio::io_context& core, std::string module)
      : module_(std::move(module)), pings_end_(std::make_shared<Wakeup>(core)), over_(core) {}
  // Holds nothing of the link while it waits.
  static Task<void> ping_now_and_then(std::weak_ptr<WorkerLink*> weak, std::shared_ptr<Wakeup> end, Clock& clock);
  void hear(const wire::Report& report);
  void take(const wire::Answer& answer);
  void log_line(const wire::LogLine& line);
  void note_printed(const std::string& line);
  void end(const std::string& how);

  const std::string module_;
  const std::shared_ptr<WorkerLink*> self_ = std::make_shared<WorkerLink*>(this);
  const std::shared_ptr<Wakeup> pings_end_;  // with the link, not seconds after it
  bool pinged_ = false;                      // and not answered
  std::string why_killed_;                   // if the link did it by itself
  std::shared_ptr<WorkerProcess> process_;
  Listener listener_;
  std::map<std::uint64_t, Open> open_;
  std::deque<std::string> last_printed_;
  LastLines last_lines_;
  LineBudget print_budget_, log_budget_;
  OneShot<bool> over_;
};

}  // namespace cardcage
