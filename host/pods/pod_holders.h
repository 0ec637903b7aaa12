// Judges who holds the devices that were handed out, from what the kubelet says at several times.
//
// The kubelet frees devices lazily and tells nobody. A list of its pods may have begun before an Allocate ended, leaves
// out ordinary init containers, and is empty for a while after the kubelet has started: one list proves no absence.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "host/pods/pod_listing.h"

namespace cardcage {

// What the kubelet's own checkpoint says of a device that no list names.
enum class CheckpointWord : std::uint8_t {
  kFree,     // it names the device for no pod that is left on the node
  kHeld,     // it does; the kubelet rewrites it lazily, so the pod may have ended
  kUnknown,  // it cannot be read
};

struct AbsentDevice {
  HandedOutDevice device;
  Instant since, until;  // when the first and the last list of a row began that did not name it; >= 1 s apart
};

// [core] Pure: no I/O, time comes with the lists.
class PodHolders {
 public:
  static constexpr std::chrono::seconds kApart{1};       // two lists that both count
  static constexpr std::chrono::seconds kAdmission{30};  // from Allocate until a pod must have shown up somewhere
  static constexpr std::chrono::minutes kBlind{5};       // absent for so long, without a checkpoint to ask

  struct Findings {
    std::vector<PodHolding> seen;      // news for HandedOut::seen
    std::vector<PodHolding> strange;   // for HandedOut::adopt: in two lists, yet not handed out
    std::vector<AbsentDevice> absent;  // in no list any more: ask the checkpoint, then may_release()
    std::optional<Instant> confirm;    // a list that begins then may turn doubt into a finding
  };

  // What a successful list means for what is handed out now. Holdings of other resources than `ours` are ignored.
  Findings judge(const PodListing& listing, const std::vector<HandedOutDevice>& handed_out,
                 const std::set<std::string>& ours);

  static bool may_release(const AbsentDevice& absent, CheckpointWord word);

 private:
  struct Evidence {
    Instant allocated;  // of the Allocate that all this is about
    std::optional<Instant> absent_since;
    std::optional<PodContainer> told;
    PodContainer before;  // the last one of an earlier Allocate
  };
  using Holders = std::map<ResourceDevice, std::vector<PodContainer>>;

  void judge_device(const HandedOutDevice& device, const PodListing& listing, const Holders& holders,
                    Findings& findings);
  static const PodContainer& choose(const Evidence& evidence, const std::vector<PodContainer>& holders);

  std::map<ResourceDevice, Evidence> evidence_;  // of what is handed out
  std::map<ResourceDevice, Instant> strange_;    // since when
};

}  // namespace cardcage
