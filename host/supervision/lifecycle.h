// The life of one module as one value: its phase, the requests of operators and the configuration, and its failures.
// Everything that others read about the module is derived from it. Supervisor does the I/O and reports each step here.
//
//                restart()
//             +-------------+
//             v             |
//   +---> Starting ----> Ready <--+ accept_trial()
//   |      |    serve()   |  +----+ refuse_trial(), drop_trial(), take_back_trial()
//   |      |              |
//   |      +--back_off()--+
//   |             v
//   +---------- Away    backing off, or broken if it failed too often
//      start()
//
//   any phase --stay_quiesced()--> Quiesced  while an operator wants the module off its hardware
//   any phase --block()----------> Stuck     while something of a former instance may hold the hardware
//   any phase --stop()-----------> Stopped   for good
//
//   Quiesced --start()--> Starting
//   Stuck    --start()--> Starting, --await_retry()--> Away
//
// A transition that the phase does not allow is a bug, and aborts the daemon.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <variant>

#include "host/core/clock.h"
#include "host/model/health.h"
#include "host/supervision/quiesce_marks.h"
#include "host/supervision/restart_policy.h"
#include "host/supervision/target_config.h"

namespace cardcage {

enum class ModuleState : std::uint8_t { kStarting, kReady, kBackingOff, kBroken, kStuck, kQuiesced, kStopped };
std::string to_string(ModuleState state);

// Makes the health of a device that an operator keeps away from all users; `why` is for people.
CauseHealth quiesced_health(std::string why, std::chrono::system_clock::time_point since);

// [core]
class Lifecycle {
 public:
  // `changed` is called after each transition that others can see.
  Lifecycle(ModuleConfig config, const Clock& clock, std::function<void()> changed);

  // The supervisor's next step after it has ended the last one.
  enum class Step : std::uint8_t { kStop, kWaitUntilUnstuck, kStayQuiesced, kWaitBeforeRetry, kRunInstance };
  Step next_step(bool has_leftover) const;

  // Phases.
  void start();    // makes an instance, or resumes one
  void offer();    // while starting: the devices are listed, others may call the instance
  void serve();    // the start succeeded
  void restart();  // an operator wants a fresh instance
  void back_off(Duration ran);
  void begin_pause() { policy_.begin_pause(clock_.now()); }  // the failed instance is released
  void await_retry();
  void block(std::string why);
  void unblock();  // the leftover is gone
  void stay_quiesced();
  void stop();

  // The instance cannot be used any more. The last reason is kept.
  void lose(Error why);
  // The instance keeps serving its previous device list after the failure.
  void fail_discover(const Error& why);
  void pass_discover();
  // The instance serves, but runs the last good build, since the file is unusable.
  void refuse_file(const Error& why);

  // Sets the wanted configuration; see TargetConfig.
  void configure(ModuleConfig config) { target_.configure(std::move(config)); }
  void request_trial() { target_.request_trial(); }
  const ModuleConfig& begin_start();
  const ModuleConfig& begin_trial() { return target_.begin_trial(); }
  void accept_trial();
  void refuse_trial(const Error& why);
  void drop_trial();
  void confirm_file();  // drops a trial of the running file
  // After accept_trial(): the previous instance serves again, with the configuration `before`.
  void take_back_trial(ModuleConfig before, const Error& why);

  // Requests of operators and of the daemon.
  void set_quiesced(QuiesceMark mark);
  void clear_quiesced();
  void drain(std::string why);
  void forgive_failures() { policy_.forgive(); }
  void request_stop() { stop_requested_ = true; }

  ModuleState state() const;
  std::chrono::system_clock::time_point since() const { return since_; }
  const TargetConfig& target() const { return target_; }
  const ModuleConfig& config() const { return target_.running(); }
  const std::optional<QuiesceMark>& quiesced() const { return quiesced_; }
  const std::string& draining() const { return draining_; }
  const std::optional<Error>& lost() const { return lost_; }
  bool stop_requested() const { return stop_requested_; }
  const RestartPolicy& restart_policy() const { return policy_; }
  int restarts() const { return restarts_; }

  // State derived from all that.
  bool offered() const;
  Status usable() const;  // by others; else the reason
  // Returns true if the module cannot be called now, but may be back by then without an operator.
  bool returns_by(Instant when) const;
  // Returns the time since which a module that was usable cannot be called, if it may be back without an operator.
  std::optional<Instant> away_since() const;
  bool undecided() const;
  bool settled() const;
  // Explains why the instance does not have the wanted configuration or file; nothing if it has them, or a trial is
  // open.
  std::optional<Error> refused() const;
  // Returns false while something is refused, and after a failed start.
  bool runs_as_wanted() const;
  std::optional<Error> last_error() const;
  std::string detail() const;
  std::string warning() const;
  // Returns the health of each device while the module cannot be used.
  std::optional<CauseHealth> health_while_away() const;

 private:
  struct Starting {
    static constexpr ModuleState kState = ModuleState::kStarting;
    bool first = false;    // first start since the daemon knows the module
    bool offered = false;  // others may call the instance
  };
  struct Ready {
    static constexpr ModuleState kState = ModuleState::kReady;
  };
  struct Away {
    static constexpr ModuleState kState = ModuleState::kBackingOff;  // or kBroken
  };
  struct Stuck {
    static constexpr ModuleState kState = ModuleState::kStuck;
    std::string why;
  };
  struct Quiesced {
    static constexpr ModuleState kState = ModuleState::kQuiesced;
  };
  struct Stopped {
    static constexpr ModuleState kState = ModuleState::kStopped;
  };
  using Phase = std::variant<Starting, Ready, Away, Stuck, Quiesced, Stopped>;

  // The last failure that later success has not cleared.
  struct Trouble {
    enum class Kind : std::uint8_t { kNotStarted, kLost, kDiscoverFailed } kind;
    Error error;
  };

  template <class P>
  const P* in() const {
    return std::get_if<P>(&phase_);
  }
  void require(bool allowed, std::string_view transition) const;
  void enter(Phase phase);
  bool callable() const { return offered() && !lost_; }
  void note_refusal(const Error& why, bool of_config);
  Error refusal(Error why, std::string_view what) const;
  std::string quiesced_text() const;
  std::string why_away() const;

  const Clock& clock_;
  const std::function<void()> changed_;
  Phase phase_ = Starting{.first = true, .offered = false};
  std::chrono::system_clock::time_point since_;
  TargetConfig target_;
  std::optional<Error> lost_;          // reason of the current instance's loss
  std::optional<Instant> away_since_;  // set from the loss of a usable instance until the next one is usable
  std::optional<Trouble> trouble_;
  std::optional<Error> file_refused_;  // why the instance does not run the module's file
  std::optional<QuiesceMark> quiesced_;
  std::string draining_;  // the reason; empty if it does not drain
  RestartPolicy policy_;
  int restarts_ = 0;
  bool stop_requested_ = false;
};

}  // namespace cardcage
