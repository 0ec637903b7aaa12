// The common part of in-process and remote modules: admission of calls, deadlines, and the loss of an instance that
// does not keep its deadlines.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/access/edit_rules.h"
#include "host/access/programs.h"
#include "host/access/writes.h"
#include "host/core/delayed_call.h"
#include "host/model/module.h"
#include "host/services/services.h"

namespace cardcage {

// Time after its deadline for which a call may run before the instance counts as stuck.
constexpr std::chrono::seconds kStuckGrace{5};
// Limit for simultaneous calls of a concurrent module.
constexpr std::size_t kMaxOverlappingCalls = 16;

// An instance's programs, writes and services on the node.
struct NodeWork {
  std::shared_ptr<Programs> programs;
  std::shared_ptr<Writes> writes;
  std::shared_ptr<Services> services;  // null = services are not available
  NodeRoots roots;
  std::shared_ptr<const EditRules> edits;
};

// [core] A call that passes its deadline fails, is cancelled and is watched. If it still runs kStuckGrace later, the
// instance is lost for good, and every further call fails with UNAVAILABLE at once: a late return does not bring the
// instance back, since the state after that call is unknown. A debugger suspends this: while one is attached no
// instance is lost, and the call may run until kStuckGrace after the debugger has left.
//
// A module gets its calls one after the other, in order; a concurrent one gets a call as soon as no earlier call that
// it may not overlap is open.
//
// Coroutines of calls share the object with its owner.
class RunningModule : public Module, public std::enable_shared_from_this<RunningModule> {
 public:
  struct Parts {
    std::string name;  // name in the configuration
    ModuleIdentity identity;
    OptionValues options;  // checked
    NodeWork node;
  };

  const ModuleIdentity& identity() const override { return identity_; }

  Task<Status> start(ModuleEvents events, Instant deadline) override;
  Task<Result<ModuleReply>> execute(ModuleCall call, Instant deadline, JournalWriter journal) override;
  Task<Status> finish_calls(Instant deadline) override;
  Task<Status> stop(Instant deadline) override;
  std::optional<BusyModule> busy() const override;
  std::optional<Progress> progress(const std::string& claim_uid) const override;
  // Calls stop and destroy and tears nothing down: the module may start again.
  Task<Status> end_instance(Instant deadline);

 protected:
  enum class State { kLoaded, kStarted, kStopped };
  using WallTime = std::chrono::system_clock::time_point;
  // A call that has a waiting caller or still occupies the module.
  struct OpenCall {
    std::optional<ModuleCall> waiting;  // until the module gets it
    CallPlace place;
    std::string claim;  // UID of the call's claim; empty without one
    std::string_view what;
    WallTime since;
    Instant begun, deadline;
    OneShot<Result<ModuleReply>> reply;
    JournalWriter journal;        // may be null
    DelayedCall stuck;            // fires if the call still runs kStuckGrace after its deadline
    bool given_up = false;        // no caller waits for it any more
    bool waits_for_node = false;  // a request of the module to the host is in progress
    bool seen_traced = false;     // a debugger let it run past its deadline
    std::optional<Progress> progress = {};

    bool overlaps(const OpenCall& other) const;
  };

  // `core` and `clock` outlive the object.
  RunningModule(asio::io_context& core, Clock& clock, Parts parts);

  // Hands the call to the module; close_call() follows when the module has returned. An error fails the call at once.
  virtual Status begin(std::uint64_t number, ModuleCall call, Instant deadline) = 0;
  // Called when no caller waits any more: tells the module, and drops a call that has not begun. Returns true if it
  // still runs.
  virtual bool cancel(std::uint64_t number) = 0;
  // Returns whether a debugger is attached to the module's process.
  virtual bool is_traced() const = 0;
  // The instance is stuck in `call`: ends what can be ended and returns the error.
  virtual Error give_up(const OpenCall& call) = 0;
  // Called after the stop call, successful or not.
  virtual Task<void> tear_down(Instant deadline) = 0;

  void close_call(std::uint64_t number, Result<ModuleReply> reply);
  void note_progress(std::uint64_t call, Progress progress);
  // Handles a request of the module during the call.
  void answer(std::uint64_t call, ModuleAsk ask, std::function<void(Result<AskReply>)> respond);
  // Fails all current and later calls, and tells the owner.
  void lose(Error why);

  const std::string& name() const { return name_; }
  State state() const { return state_; }
  const std::optional<Error>& lost() const { return lost_; }
  const ModuleEvents& events() const { return events_; }
  const std::shared_ptr<Programs>& programs() const { return node_.programs; }
  // Returns the call that the module is busy with, which is the oldest; null without calls.
  const OpenCall* oldest_call() const { return open_.empty() ? nullptr : &open_.begin()->second; }
  std::uint64_t next_number() { return ++last_call_; }
  Clock& clock() const { return clock_; }

 private:
  // Makes one attempt of the call.
  Task<Result<ModuleReply>> attempt(ModuleCall call, Instant deadline, JournalWriter journal);
  // Checks the edits of a prepare, and gives their files the paths of the node.
  Status adopt(PreparedEdits& edits) const;
  // Runs a program, a write or a change of a service, one at a time in a call.
  template <class Ask>
  static Task<void> run_on_node(std::shared_ptr<RunningModule> self, std::uint64_t call, Ask ask,
                                std::function<void(Result<AskReply>)> respond);
  // Return the reply once the request is done.
  Task<Result<AskReply>> execute_ask(ExecAsk ask, const std::string& claim, Instant deadline);
  Task<Result<AskReply>> execute_ask(ServiceStartAsk ask, const std::string& claim, Instant deadline);
  Task<Result<AskReply>> execute_ask(ServiceStopAsk ask, const std::string& claim, Instant deadline);
  template <class WriteAsk>
  Task<Result<AskReply>> execute_ask(WriteAsk ask, const std::string& claim, Instant deadline);
  Status may_have_service(const std::string& claim, const std::string& service) const;
  Status keep_journal(const OpenCall& call, std::string bytes) const;
  // Returns an error if the call may not be made.
  Status admit(const ModuleCall& call, Instant deadline) const;
  Error unanswered(std::uint64_t number, Instant deadline) const;
  void forget_call(std::uint64_t number);
  // Hands over every call that may begin now.
  void begin_calls();
  bool may_begin(std::uint64_t number) const;
  // Returns whether the module is busy with this call, and not with an older one.
  bool is_busy_with(std::uint64_t number) const;
  // Gives the instance up if it is stuck in this call, and not in an older one.
  void check_stuck(std::uint64_t number);

  asio::io_context& core_;
  Clock& clock_;
  const std::string name_;  // name in the configuration
  const ModuleIdentity identity_;
  const OptionValues options_;
  const NodeWork node_;
  ModuleEvents events_;  // empty when no events may be reported
  State state_ = State::kLoaded;
  std::optional<Error> lost_;
  std::uint64_t last_call_ = 0;
  std::map<std::uint64_t, OpenCall> open_;
  struct Attempts {
    std::string_view call;
    std::uint32_t count = 0;
  };
  std::map<std::string, Attempts> attempts_;  // by claim UID; kept for the last call, unless it succeeded
  std::vector<OneShot<Status>> waiting_for_idle_;
};

}  // namespace cardcage
