// Claims: every call may be repeated [R14], and a new instance continues with the saved state [R7].
#include <fmt/ranges.h>

#include "host/config/params.h"
#include "host/conformance/claim_edits.h"
#include "host/conformance/rules.h"
#include "host/model/combined_edits.h"

namespace cardcage::rules {
namespace {

constexpr const char* kGoneDevice = "module-check-no-such-device";

Task<Result<ModuleClaim>> prepared_claim(Trial& trial) {
  auto claim = co_await trial.new_claim();
  if (!claim) co_return claim;
  const auto edits = co_await trial.prepare(*claim);
  if (!edits) co_return std::unexpected(edits.error());
  co_return claim;
}

Outcome compare(const PreparedEdits& before, const Result<PreparedEdits>& after) {
  if (!after) return broken(after.error());
  std::string changes = edit_changes(before, *after);
  if (changes.empty()) return passed("");
  return broken(std::move(changes));
}

}  // namespace

Task<Outcome> prepares(Trial& trial) {
  if (!trial.request().prepare) co_return skipped("--no-prepare");
  const auto device = co_await trial.device();
  if (!device && device.error().code == Code::kNotFound)
    co_return broken(device.error().message +
                     ", so no claim was checked: check it where it has one, or with --no-prepare");
  if (!device) co_return broken(device.error());
  const auto claim = trial.claim_of(*device);
  if (!claim) co_return skipped("the parameters of a claim have no defaults: " + claim.error().message);
  const auto edits = co_await trial.prepare(*claim);
  if (!edits) co_return broken(edits.error());
  const Status released = co_await trial.unprepare(*claim);
  if (!released) co_return broken(released.error());
  co_return passed(fmt::format("device '{}': {}", device->id, summary_of(*edits)));
}

Task<Outcome> prepares_with_each_kind_of_params(Trial& trial) {
  const auto device = co_await trial.device();
  if (!device) co_return broken(device.error());
  const std::vector<ParamsSchema> schemas = trial.identity()->schemas;
  std::vector<std::string> taken;
  for (const ParamsSchema& schema : schemas) {
    if (schema.raw || !takes(schema, device->kind)) continue;
    const auto claim = trial.claim_of(*device, &schema);
    if (!claim) continue;  // a field has no default
    const auto edits = co_await trial.prepare(*claim);
    if (!edits) co_return broken(fmt::format("with {}: {}", schema.kind, edits.error().message));
    const Status released = co_await trial.unprepare(*claim);
    if (!released) co_return broken(fmt::format("with {}: {}", schema.kind, released.error().message));
    taken.push_back(schema.kind.empty() ? "its params" : schema.kind);
  }
  if (taken.empty()) co_return skipped("the device takes no parameters that have defaults");
  co_return passed(fmt::format("{}", fmt::join(taken, ", ")));
}

// A pod may claim several devices, and its container gets the edits of all.
Task<Outcome> prepares_two_devices(Trial& trial) {
  const auto first = co_await trial.device();
  if (!first) co_return broken(first.error());
  const auto second = co_await trial.second_device();
  if (!second && second.error().code == Code::kNotFound) co_return skipped(second.error().message);
  if (!second) co_return broken(second.error());
  auto claim = trial.claim_of(*first);
  if (!claim) co_return broken(claim.error());
  if (const Status added = trial.add_device(*claim, *second); !added) co_return broken(added.error());
  const auto edits = co_await trial.prepare(*claim);
  if (!edits) co_return broken(edits.error());
  std::vector<DeviceEdits> devices;
  for (std::size_t i = 0; i < edits->allocations.size(); ++i)
    devices.push_back({i == 0 ? first->name : second->name, &edits->allocations[i], &edits->claim});
  if (const Status fits = check_combination(devices); !fits) co_return broken(fits.error());
  const Status released = co_await trial.unprepare(*claim);
  if (!released) co_return broken(released.error());
  co_return passed(fmt::format("devices '{}' and '{}'", first->id, second->id));
}

// Prepares each device for a claim of its own, one after the other, because two devices may share hardware.
Task<Outcome> prepares_each_device(Trial& trial) {
  const auto devices = co_await trial.devices();
  if (!devices) co_return broken(devices.error());
  if (devices->size() == 1) co_return skipped("one device: name more with --device, or use --all-devices");
  std::size_t prepared = 0;
  std::vector<std::string> failures;
  for (const Device& device : *devices) {
    const auto claim = trial.claim_of(device);
    if (!claim) continue;  // a field has no default
    ++prepared;
    const auto edits = co_await trial.prepare(*claim);
    const Status released = co_await trial.unprepare(*claim);
    if (!edits || !released)
      failures.push_back(fmt::format("device '{}': {}", device.id, (edits ? released.error() : edits.error()).message));
  }
  if (!failures.empty()) co_return broken(fmt::format("{}", fmt::join(failures, "; ")));
  if (prepared == 0) co_return skipped("the devices need parameters that have no defaults");
  co_return passed(fmt::format("devices: {}", prepared));
}

Task<Outcome> prepares_again(Trial& trial) {
  const auto claim = co_await trial.new_claim();
  if (!claim) co_return broken(claim.error());
  const auto before = co_await trial.prepare(*claim);
  if (!before) co_return broken(before.error());
  const auto after = co_await trial.prepare(*claim);
  co_return compare(*before, after);
}

Task<Outcome> prepares_again_after_a_restart(Trial& trial) {
  const auto claim = co_await trial.new_claim();
  if (!claim) co_return broken(claim.error());
  const auto before = co_await trial.prepare(*claim);
  if (!before) co_return broken(before.error());
  const Status stopped = co_await trial.stop();
  if (!stopped) co_return broken(stopped.error());
  const auto after = co_await trial.prepare(*claim);
  co_return compare(*before, after);
}

Task<Outcome> prepares_after_unprepare(Trial& trial) {
  const auto claim = co_await prepared_claim(trial);
  if (!claim) co_return broken(claim.error());
  const Status released = co_await trial.unprepare(*claim);
  if (!released) co_return broken(released.error());
  const auto again = co_await trial.prepare(*claim);
  if (!again) co_return broken(within(again.error(), "the same claim").error());
  const Status released_again = co_await trial.unprepare(*claim);
  if (!released_again) co_return broken(released_again.error());
  const auto other = co_await prepared_claim(trial);
  if (!other) co_return broken(within(other.error(), "another claim").error());
  co_return passed("");
}

// The failed claim has the device and another device that does not exist.
Task<Outcome> prepares_after_a_failure(Trial& trial) {
  auto claim = co_await trial.new_claim();
  if (!claim) co_return broken(claim.error());
  claim->allocations.push_back(claim->allocations.front());
  claim->allocations.back().device_id = kGoneDevice;
  const auto edits = co_await trial.prepare(*claim);
  if (edits) co_return skipped("prepare succeeds even for a device that does not exist");
  const auto other = co_await prepared_claim(trial);
  if (!other) co_return broken(within(other.error(), "another claim after that").error());
  co_return passed("");
}

Task<Outcome> unprepares_again(Trial& trial) {
  const auto claim = co_await prepared_claim(trial);
  if (!claim) co_return broken(claim.error());
  const Status released = co_await trial.unprepare(*claim);
  if (!released) co_return broken(released.error());
  const Status again = co_await trial.unprepare(*claim);
  co_return outcome_of(again);
}

Task<Outcome> unprepares_unknown_claims(Trial& trial) {
  const auto claim = co_await trial.new_claim();
  if (!claim) co_return broken(claim.error());
  const Status released = co_await trial.unprepare(*claim);
  co_return outcome_of(released);
}

Task<Outcome> unprepares_without_the_device(Trial& trial) {
  auto claim = co_await trial.new_claim();
  if (!claim) co_return broken(claim.error());
  claim->allocations.front().device_id = kGoneDevice;
  const Status released = co_await trial.unprepare(*claim);
  co_return outcome_of(released);
}

// The next instance has only the saved state, whether the last one stopped or crashed.
static Task<Outcome> unprepare_in_the_next(Trial& trial, ModuleClaim claim) {
  const Status released = co_await trial.unprepare(claim);
  if (!released) co_return broken(released.error());
  const auto other = co_await prepared_claim(trial);
  if (!other) co_return broken(within(other.error(), "another claim after that").error());
  co_return passed("");
}

Task<Outcome> unprepares_in_a_new_instance(Trial& trial) {
  const auto claim = co_await prepared_claim(trial);
  if (!claim) co_return broken(claim.error());
  const Status stopped = co_await trial.stop();
  if (!stopped) co_return broken(stopped.error());
  co_return co_await unprepare_in_the_next(trial, *claim);
}

Task<Outcome> unprepares_after_a_crash(Trial& trial) {
  if (trial.request().in_process) co_return skipped(kNoWorker);
  const auto claim = co_await prepared_claim(trial);
  if (!claim) co_return broken(claim.error());
  co_await trial.kill();
  co_return co_await unprepare_in_the_next(trial, *claim);
}

}  // namespace cardcage::rules
