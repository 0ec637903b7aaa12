// Health: stated only for listed devices [R6] and only with declared causes [R23], and stated again after a reset
// [R24].
#include <algorithm>

#include "host/conformance/rules.h"

namespace cardcage::rules {

namespace {

// Returns the devices, after a check of each.
Task<Result<SnapshotPtr>> check_devices(Trial& trial) {
  const auto snapshot = co_await trial.call<DiscoverCall>();
  if (!snapshot || !trial.identity()->has_check) co_return snapshot;
  for (const Device& device : (*snapshot)->devices)
    if (const auto checked = co_await trial.call<CheckCall>(std::vector(1, device.id)); !checked)
      co_return std::unexpected(checked.error());
  co_return snapshot;
}

}  // namespace

// An id that is only a parent_id counts as listed.
Task<Outcome> states_health_of_listed_devices(Trial& trial) {
  const auto snapshot = co_await check_devices(trial);
  if (!snapshot) co_return broken(snapshot.error());
  const std::map<std::string, Statements> stated = co_await trial.statements();
  for (const auto& [id, statements] : stated) {
    const auto is_listed = [&](const Device& device) { return device.id == id || device.parent_id == id; };
    if (std::ranges::none_of((*snapshot)->devices, is_listed))
      co_return broken(fmt::format("it states the health of device '{}', which discover does not report", id));
  }
  co_return passed("");
}

Task<Outcome> states_declared_causes(Trial& trial) {
  const std::vector<CauseDeclaration>& declared = trial.identity()->causes;
  if (declared.empty()) co_return skipped("the module declares no causes");
  const auto snapshot = co_await check_devices(trial);
  if (!snapshot) co_return broken(snapshot.error());
  std::map<std::string, Statements> stated = co_await trial.statements();
  for (const Device& device : (*snapshot)->devices) put(stated[device.id], device.health);
  for (const auto& [device, statements] : stated)
    for (const auto& [cause, health] : statements)
      if (!cause.empty() && std::ranges::find(declared, cause, &CauseDeclaration::name) == declared.end())
        co_return broken(fmt::format("device '{}' has the cause '{}', which is not declared", device, cause));
  co_return passed(fmt::format("causes: {}", declared.size()));
}

Task<Outcome> resets_a_device(Trial& trial) {
  if (!trial.identity()->has(Family::kReset)) co_return skipped("the module has no cage.reset");
  const auto device = co_await trial.device();
  if (!device) co_return broken(device.error());
  if (trial.identity()->has_check)
    if (const auto checked = co_await trial.call<CheckCall>(std::vector(1, device->id)); !checked)
      co_return broken(checked.error());
  auto all_before = co_await trial.statements();
  const Statements before = all_before[device->id];
  trial.forget_statements();
  const Status reset = co_await trial.call<ResetCall>(device->id);
  if (!reset && reset.error().code == Code::kUnimplemented) co_return passed("the device cannot be reset");
  if (!reset) co_return broken(reset.error());
  auto all_after = co_await trial.statements();
  const Statements after = all_after[device->id];
  if (after.empty()) co_return broken(fmt::format("nothing is stated about device '{}' after its reset", device->id));
  for (const auto& [cause, health] : before)
    if (!after.contains(cause))
      co_return broken(fmt::format("cause '{}' of device '{}' is not stated again", cause, device->id));
  const auto claim = trial.claim_of(*device);
  if (!claim) co_return broken(claim.error());
  const auto edits = co_await trial.prepare(*claim);
  if (!edits) co_return broken(within(edits.error(), "after the reset").error());
  const Status released = co_await trial.unprepare(*claim);
  if (!released) co_return broken(released.error());
  co_return passed(fmt::format("causes stated again: {}", after.size()));
}

}  // namespace cardcage::rules
