// Calls end at their deadline, and failures are explained [R4].
#include "host/conformance/rules.h"
#include "host/instance/instance.h"

namespace cardcage::rules {
namespace {

constexpr const char* kUnknownDevice = "module-check-no-such-device";

// A deadline that passes during a call that takes as long as the last one.
Duration half_of(Duration taken) { return std::max<Duration>(taken / 2, std::chrono::milliseconds(1)); }

Outcome returned(const Status& done) {
  return done ? passed("") : broken(fmt::format("seconds after its deadline: {}", done.error().message));
}

}  // namespace

Task<Outcome> discover_ends_at_its_deadline(Trial& trial) {
  const Instant begin = trial.clock().now();
  const auto snapshot = co_await trial.call<DiscoverCall>();
  if (!snapshot) co_return broken(snapshot.error());
  const Status done = co_await trial.discover_until(half_of(trial.clock().now() - begin));
  co_return returned(done);
}

Task<Outcome> prepare_ends_at_its_deadline(Trial& trial) {
  const auto device = co_await trial.device();
  if (!device) co_return broken(device.error());
  const auto first = trial.claim_of(*device), second = trial.claim_of(*device);
  if (!first || !second) co_return broken((first ? second : first).error());
  const Instant begin = trial.clock().now();
  const auto edits = co_await trial.prepare(*first);
  if (!edits) co_return broken(edits.error());
  const Duration taken = trial.clock().now() - begin;
  const Status released = co_await trial.unprepare(*first);
  if (!released) co_return broken(released.error());
  const Status done = co_await trial.prepare_until(*second, half_of(taken));
  co_return returned(done);
}

// A device may be gone when its claim is prepared.
Task<Outcome> explains_failures(Trial& trial) {
  auto claim = co_await trial.new_claim();
  if (!claim) co_return broken(claim.error());
  claim->allocations.front().device_id = kUnknownDevice;
  const auto edits = co_await trial.prepare(*claim);
  if (edits) co_return skipped("prepare succeeds even for a device that does not exist");
  const auto snapshot = co_await trial.call<DiscoverCall>();  // fails if the module crashed or hangs
  if (!snapshot || edits.error().message.ends_with(kUnexplained)) co_return broken(edits.error());
  co_return passed(edits.error().message);
}

}  // namespace cardcage::rules
