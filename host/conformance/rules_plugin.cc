// The device-plugin API: the kubelet allocates devices by id, each as a claim of its own [R15].
#include <fmt/ranges.h>

#include <algorithm>

#include "host/conformance/claim_edits.h"
#include "host/conformance/rules.h"

namespace cardcage::rules {
namespace {

// A module may serve its devices only with DRA, and then says so.
bool refuses(const Error& error) {
  return error.code == Code::kFailedPrecondition || error.code == Code::kUnimplemented;
}

}  // namespace

// Asks for two devices of a kind, the last of which a container must get.
Task<Outcome> prefers_devices(Trial& trial) {
  if (!trial.identity()->has(Family::kPreferred)) co_return skipped("the module has no " CAGE_EXT_PREFERRED);
  const auto device = co_await trial.device();
  if (!device && device.error().code == Code::kNotFound) co_return skipped(device.error().message);
  if (!device) co_return broken(device.error());
  const auto snapshot = co_await trial.call<DiscoverCall>();
  if (!snapshot) co_return broken(snapshot.error());
  std::vector<std::string> available;
  for (const Device& one : (*snapshot)->devices)
    if (one.kind == device->kind) available.push_back(one.id);
  if (available.empty()) co_return broken(fmt::format("device '{}' is not reported any more", device->id));
  const std::vector required{available.back()};
  const auto chosen = co_await trial.call<ChooseCall>(available, required, std::min<std::size_t>(available.size(), 2));
  if (!chosen) co_return broken(chosen.error());
  std::string choice = fmt::format("'{}' of {} with '{}' required: {}", device->kind, available.size(),
                                   required.front(), fmt::join(*chosen, ", "));
  if (std::ranges::find(*chosen, required.front()) == chosen->end())
    co_return broken("the choice lacks the required device: " + choice);
  co_return passed(std::move(choice));
}

Task<Outcome> allocates(Trial& trial) {
  const auto devices = co_await trial.devices();
  if (!devices) co_return broken(devices.error());
  std::vector<std::string> grants;
  for (const Device& device : *devices) {
    const auto claim = trial.resource_claim_of(device);
    if (!claim) co_return skipped("the parameters of a claim have no defaults: " + claim.error().message);
    const auto edits = co_await trial.prepare(*claim);
    if (!edits && refuses(edits.error())) co_return skipped("the module refuses it: " + edits.error().message);
    if (!edits) co_return broken(edits.error());
    const Status released = co_await trial.unprepare(*claim);
    if (!released) co_return broken(released.error());
    grants.push_back(fmt::format("device '{}': {}", device.id, summary_of(*edits)));
  }
  co_return passed(fmt::format("{}", fmt::join(grants, "; ")));
}

Task<Outcome> survives_container_restarts(Trial& trial) {
  if (!trial.identity()->has(Family::kPreStart)) co_return skipped("the module has no " CAGE_EXT_PRE_START);
  const auto device = co_await trial.device();
  if (!device) co_return broken(device.error());
  const auto claim = trial.resource_claim_of(*device);
  if (!claim) co_return broken(claim.error());
  const auto edits = co_await trial.prepare(*claim);
  if (!edits) co_return broken(edits.error());
  const Status first = co_await trial.call<PreStartCall>(*claim);
  if (!first) co_return broken(first.error());
  const Status second = co_await trial.call<PreStartCall>(*claim);
  co_return outcome_of(second);
}

}  // namespace cardcage::rules
