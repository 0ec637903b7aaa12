// A quiesced instance gives its hardware to the operator [R12].
#include "host/conformance/device_changes.h"
#include "host/conformance/rules.h"

namespace cardcage::rules {
namespace {

constexpr const char* kNoQuiesce = "the module has no quiesce";

}  // namespace

Task<Outcome> releases_the_hardware(Trial& trial) {
  if (!trial.identity()->has_quiesce) co_return skipped(kNoQuiesce);
  const auto snapshot = co_await trial.call<DiscoverCall>();
  if (!snapshot) co_return broken(snapshot.error());
  const Status quiesced = co_await trial.call<QuiesceCall>();
  if (!quiesced) co_return broken(quiesced.error());
  const auto state = trial.state();
  if (!state) co_return broken(state.error());
  std::string open = open_hardware(trial.loaded_state(), *state);
  const Status resumed = co_await trial.call<ResumeCall>();
  if (!open.empty()) co_return broken(std::move(open));
  co_return outcome_of(resumed);
}

Task<Outcome> prepares_nothing_while_quiesced(Trial& trial) {
  if (!trial.identity()->has_quiesce) co_return skipped(kNoQuiesce);
  const auto claim = co_await trial.new_claim();
  if (!claim) co_return broken(claim.error());
  const Status quiesced = co_await trial.call<QuiesceCall>();
  if (!quiesced) co_return broken(quiesced.error());
  const auto edits = co_await trial.prepare(*claim);
  const Status released = co_await trial.unprepare(*claim);
  const Status resumed = co_await trial.call<ResumeCall>();
  if (edits) co_return broken("prepare succeeds");
  if (edits.error().code != Code::kUnavailable)
    co_return broken(fmt::format("prepare returns {}: {}", to_string(edits.error().code), edits.error().message));
  if (!released && released.error().code != Code::kUnavailable) co_return broken(released.error());
  co_return outcome_of(resumed);
}

Task<Outcome> quiesces_one_device(Trial& trial) {
  if (!trial.identity()->has(Family::kQuiesce)) co_return skipped("the module has no cage.quiesce");
  const auto device = co_await trial.device();
  if (!device) co_return broken(device.error());
  const auto claim = trial.claim_of(*device);
  if (!claim) co_return broken(claim.error());
  const std::string id = device->parent_id.empty() ? device->id : device->parent_id;
  const Status quiesced = co_await trial.call<QuiesceDeviceCall>(id);
  if (!quiesced) co_return broken(quiesced.error());
  const Status repeated = co_await trial.call<QuiesceDeviceCall>(id);
  if (!repeated) co_return broken(within(repeated.error(), "a second time").error());
  const auto edits = co_await trial.prepare(*claim);
  const Status resumed = co_await trial.call<ResumeDeviceCall>(id);
  if (edits) co_return broken("prepare succeeds");
  if (edits.error().code != Code::kUnavailable)
    co_return broken(fmt::format("prepare returns {}: {}", to_string(edits.error().code), edits.error().message));
  if (!resumed) co_return broken(resumed.error());
  const auto again = co_await trial.prepare(*claim);
  if (!again) co_return broken(within(again.error(), "after resume").error());
  const Status released = co_await trial.unprepare(*claim);
  co_return outcome_of(released);
}

Task<Outcome> resumes(Trial& trial) {
  if (!trial.identity()->has_quiesce) co_return skipped(kNoQuiesce);
  const auto before = co_await trial.call<DiscoverCall>();
  if (!before) co_return broken(before.error());
  const Status quiesced = co_await trial.call<QuiesceCall>();
  if (!quiesced) co_return broken(quiesced.error());
  const auto meanwhile = co_await trial.call<DiscoverCall>();
  if (!meanwhile && meanwhile.error().code != Code::kUnavailable)
    co_return broken(within(meanwhile.error(), "while quiesced").error());
  const Status resumed = co_await trial.call<ResumeCall>();
  if (!resumed) co_return broken(resumed.error());
  const auto after = co_await trial.call<DiscoverCall>();
  if (!after) co_return broken(after.error());
  std::string changes = device_changes(**before, **after);
  if (!changes.empty()) co_return broken(std::move(changes));
  co_return passed("");
}

}  // namespace cardcage::rules
