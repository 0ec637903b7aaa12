// Pods: devices enter their network and come back [R28].
#include <algorithm>

#include "host/conformance/rules.h"
#include "host/conformance/scratch_pod.h"

namespace cardcage::rules {
namespace {

struct Visit {
  ModuleClaim claim;
  SandboxedPod pod;
  bool moves = false;  // the claim says which interface the pod gets
};

bool names_an_interface(const DeviceStatement& statement) {
  return statement.network && !statement.network->interface_name.empty();
}

// Makes a claim for one rule, prepared and attached to the pod.
Task<Result<Visit>> attached_claim(Trial& trial, Result<SandboxedPod> pod) {
  if (!pod) co_return std::unexpected(pod.error());
  const auto claim = co_await trial.new_claim();
  if (!claim) co_return std::unexpected(claim.error());
  Visit visit{*claim, *pod};
  const auto edits = co_await trial.prepare(*claim);
  if (!edits) co_return std::unexpected(edits.error());
  visit.moves = std::ranges::any_of(edits->statements, names_an_interface);
  const Status attached = co_await trial.call<AttachCall>(visit.claim, visit.pod);
  if (!attached) co_return std::unexpected(attached.error());
  co_return visit;
}

}  // namespace

Task<Outcome> attaches(Trial& trial) {
  if (!trial.identity()->has(Family::kSandbox)) co_return skipped("the module has no " CAGE_EXT_SANDBOX);
  const auto pod = scratch_pod("module-check");
  if (!pod && pod.error().code == Code::kPermissionDenied) co_return skipped(pod.error().message);
  const auto visit = co_await attached_claim(trial, pod);
  if (!visit) co_return broken(visit.error());
  const Status detached = co_await trial.call<DetachCall>(visit->claim, visit->pod);
  if (!detached) co_return broken(detached.error());
  const auto snapshot = co_await trial.call<DiscoverCall>();
  if (!snapshot) co_return broken(snapshot.error());
  const std::string& id = visit->claim.allocations.front().device_id;
  if (!(*snapshot)->find(id)) co_return broken(fmt::format("device '{}' is not reported after detach", id));
  co_return passed("");
}

Task<Outcome> attaches_again(Trial& trial) {
  const auto pod = scratch_pod("module-check");
  const auto visit = co_await attached_claim(trial, pod);
  if (!visit) co_return broken(visit.error());
  const Status again = co_await trial.call<AttachCall>(visit->claim, visit->pod);
  if (!again) co_return broken(again.error());
  const auto other = scratch_pod("another-pod");
  if (!other) co_return broken(other.error());
  const Status shared = co_await trial.call<AttachCall>(visit->claim, *other);
  const Status detached = co_await trial.call<DetachCall>(visit->claim, visit->pod);
  if (shared && visit->moves) co_return broken("attach succeeds for another pod, too");
  co_return outcome_of(detached);
}

Task<Outcome> detaches_after_a_crash(Trial& trial) {
  if (trial.request().in_process) co_return skipped(kNoWorker);
  const auto pod = scratch_pod("module-check");
  const auto visit = co_await attached_claim(trial, pod);
  if (!visit) co_return broken(visit.error());
  co_await trial.kill();
  const Status again = co_await trial.call<AttachCall>(visit->claim, visit->pod);
  if (!again) co_return broken(within(again.error(), "attach").error());
  const Status detached = co_await trial.call<DetachCall>(visit->claim, visit->pod);
  if (!detached) co_return broken(within(detached.error(), "detach").error());
  const Status repeated = co_await trial.call<DetachCall>(visit->claim, visit->pod);
  if (!repeated) co_return broken(within(repeated.error(), "detach, a second time").error());
  co_return passed("");
}

// Checked last: the kernel ends interfaces without hardware together with the pod.
Task<Outcome> unprepares_without_detach(Trial& trial) {
  const auto pod = scratch_pod("module-check");
  const auto visit = co_await attached_claim(trial, pod);
  if (!visit) co_return broken(visit.error());
  const Status released = co_await trial.unprepare(visit->claim);
  co_return outcome_of(released);
}

}  // namespace cardcage::rules
