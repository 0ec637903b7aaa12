// The begin and the end of an instance [R13].
#include "host/conformance/rules.h"

namespace cardcage::rules {

Task<Outcome> starts(Trial& trial) {
  const Status started = co_await trial.start();
  co_return outcome_of(started);
}

Task<Outcome> stops_at_once(Trial& trial) {
  std::ignore = co_await trial.stop();
  const Status started = co_await trial.start();
  if (!started) co_return broken(started.error());
  const Status stopped = co_await trial.stop();
  co_return outcome_of(stopped);
}

// Restarts as after a failure of a module that runs inside the daemon.
Task<Outcome> starts_again(Trial& trial) {
  const Status started = co_await trial.restart_in_place();
  if (!started) co_return broken(started.error());
  const auto snapshot = co_await trial.call<DiscoverCall>();
  co_return outcome_of(snapshot);
}

// Starts a second instance as after a change of an option: the new instance takes over from the running one.
Task<Outcome> starts_beside_another(Trial& trial) {
  const Status started = co_await trial.start_another();
  if (!started) co_return broken(started.error());
  const auto snapshot = co_await trial.call<DiscoverCall>();
  if (!snapshot) co_return broken(within(snapshot.error(), "the first instance fails after that").error());
  co_return passed("");
}

// A whole life, which the other rules of the process need [R9].
Task<Outcome> lives(Trial& trial) {
  const auto life = co_await trial.life();
  co_return outcome_of(life);
}

}  // namespace cardcage::rules
