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
    if (listing.began - since >= kApart)
      findings.strange.push_back({device, who.back()});
    else
      earliest(findings.confirm, since + kApart);
  }
  return findings;
}

void PodHolders::judge_device(const HandedOutDevice& device, const PodListing& listing, const Holders& holders,
                              Findings& findings) {
  Evidence& evidence = evidence_.try_emplace(device.device, device.allocated).first->second;
  if (evidence.allocated != device.allocated)
    evidence = {.allocated = device.allocated,
                .absent_since = {},
                .told = {},
                .before = evidence.told.value_or(evidence.before)};
  const auto held = holders.find(device.device);
  if (device.allocating || listing.began <= device.allocated) {
    // Whoever is in the list may be the pod before, and who is not may be on the way.
    evidence.absent_since.reset();
    if (!device.allocating) earliest(findings.confirm, listing.began + kApart);
    return;
  }
  if (held != holders.end()) {
    evidence.absent_since.reset();
    const PodContainer holder = choose(evidence, held->second);
    if (device.seen && evidence.told == holder) return;
    evidence.told = holder;
    findings.seen.push_back({device.device, holder});
    return;
  }
  evidence.told.reset();
  if (!evidence.absent_since) evidence.absent_since = listing.began;
  if (listing.began - *evidence.absent_since >= kApart)
    findings.absent.push_back({device, *evidence.absent_since, listing.began});
  else
    earliest(findings.confirm, *evidence.absent_since + kApart);
}

// Kubelets before 1.34 go on listing pods that have ended, beside the one that has the device now.
const PodContainer& PodHolders::choose(const Evidence& evidence, const std::vector<PodContainer>& holders) {
  if (evidence.told && std::ranges::find(holders, *evidence.told) != holders.end()) return *evidence.told;
  const auto fresh = std::ranges::find_if(holders, [&](const auto& holder) { return holder != evidence.before; });
  return fresh == holders.end() ? holders.front() : *fresh;
}

bool PodHolders::may_release(const AbsentDevice& absent, CheckpointWord word) {
  switch (word) {
    case CheckpointWord::kHeld: return false;
    // Until it is admitted a pod is in no list, has no folder, and may not be in the checkpoint either.
    case CheckpointWord::kFree: return absent.device.seen || absent.until - absent.device.allocated >= kAdmission;
    // After a start of the kubelet the lists may lack every pod until it has reached the API server.
    case CheckpointWord::kUnknown: return absent.until - absent.since >= kBlind;
  }
  return false;
}

}  // namespace cardcage
