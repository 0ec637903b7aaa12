#include "host/pods/pod_holders.h"

#include <algorithm>

namespace cardcage {
namespace {

void earliest(std::optional<Instant>& best, Instant candidate) { best = std::min(best.value_or(candidate), candidate); }

}  // namespace

PodHolders::Findings PodHolders::judge(const PodListing& listing, const std::vector<HandedOutDevice>& handed_out,
                                       const std::set<std::string>& ours) {
  Holders holders;
  for (const PodHolding& holding : listing.holdings)
    if (ours.contains(holding.device.resource)) holders[holding.device].push_back(holding.holder);

  Findings findings;
  std::set<ResourceDevice> known;
  for (const HandedOutDevice& device : handed_out) {
    known.insert(device.device);
    judge_device(device, listing, holders, findings);
  }
  std::erase_if(evidence_, [&](const auto& entry) { return !known.contains(entry.first); });
  std::erase_if(strange_,
                [&](const auto& entry) { return known.contains(entry.first) || !holders.contains(entry.first); });
  for (const auto& [device, who] : holders) {
    if (known.contains(device)) continue;
    const Instant since = strange_.try_emplace(device, listing.began).first->second;
    if (listing.began - since >= kConfirmAfter)
      findings.strange.push_back({device, who.back()});
    else
      earliest(findings.confirm, since + kConfirmAfter);
  }
  return findings;
}

void PodHolders::judge_device(const HandedOutDevice& device, const PodListing& listing, const Holders& holders,
                              Findings& findings) {
  Evidence& evidence = evidence_.try_emplace(device.device, device.allocated).first->second;
  if (evidence.allocated != device.allocated)
    evidence = {.allocated = device.allocated,
                .absent_since = {},
                .holder = {},
                .earlier_holder = evidence.holder.value_or(evidence.earlier_holder)};
  const auto held = holders.find(device.device);
  if (device.allocating || listing.began <= device.allocated) {
    // The list may show the earlier pod, or lack the new one.
    evidence.absent_since.reset();
    if (!device.allocating) earliest(findings.confirm, listing.began + kConfirmAfter);
    return;
  }
  if (held != holders.end()) {
    evidence.absent_since.reset();
    const PodContainer holder = choose(evidence, held->second);
    if (device.seen && evidence.holder == holder) return;
    evidence.holder = holder;
    findings.seen.push_back({device.device, holder});
    return;
  }
  evidence.holder.reset();
  if (!evidence.absent_since) evidence.absent_since = listing.began;
  if (listing.began - *evidence.absent_since >= kConfirmAfter)
    findings.absent.push_back({device, *evidence.absent_since, listing.began});
  else
    earliest(findings.confirm, *evidence.absent_since + kConfirmAfter);
}

// Kubelets before 1.34 also list pods that have ended, next to the one that has the device now.
const PodContainer& PodHolders::choose(const Evidence& evidence, const std::vector<PodContainer>& holders) {
  if (evidence.holder && std::ranges::find(holders, *evidence.holder) != holders.end()) return *evidence.holder;
  const auto fresh =
      std::ranges::find_if(holders, [&](const auto& holder) { return holder != evidence.earlier_holder; });
  return fresh == holders.end() ? holders.front() : *fresh;
}

bool PodHolders::may_release(const AbsentDevice& absent, CheckpointVerdict checkpoint) {
  switch (checkpoint) {
    case CheckpointVerdict::kHeld: return false;
    // A pod that is being admitted has no folder, and may be neither in a list nor in the checkpoint.
    case CheckpointVerdict::kFree: return absent.device.seen || absent.until - absent.device.allocated >= kMaxAdmission;
    // After its start the kubelet may list no pods until it has reached the API server.
    case CheckpointVerdict::kUnknown: return absent.until - absent.since >= kAbsentWithoutCheckpoint;
  }
  return false;
}

}  // namespace cardcage
