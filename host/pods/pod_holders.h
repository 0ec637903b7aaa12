// Judges who holds the devices that are handed out, from several of the kubelet's lists of pods.
//
// The kubelet frees devices lazily and without notice. A list may have begun before an Allocate ended, leaves out
// ordinary init containers, and is empty for a while after the kubelet has started: one list does not prove that a pod
// is gone.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "host/pods/pod_listing.h"

namespace cardcage {

// The verdict of the kubelet's checkpoint on a device that no list names.
enum class CheckpointVerdict : std::uint8_t {
  kFree,     // no pod that is left on the node has the device
  kHeld,     // a pod has it, or has ended since the kubelet wrote the checkpoint
  kUnknown,  // the checkpoint cannot be read
};

struct AbsentDevice {
  HandedOutDevice device;
  Instant since, until;  // when the first and the last list without it began, with none between that named it
};

// [core] Pure: no I/O, time comes with the lists.
class PodHolders {
 public:
  static constexpr std::chrono::seconds kConfirmAfter{1};   // between two lists that confirm each other
  static constexpr std::chrono::seconds kMaxAdmission{30};  // from Allocate until the kubelet must show the pod
  static constexpr std::chrono::minutes kAbsentWithoutCheckpoint{5};  // before a release without a checkpoint

  struct Findings {
    std::vector<PodHolding> seen;      // new holders, for HandedOut::seen
    std::vector<PodHolding> strange;   // in two lists, yet not handed out, for HandedOut::adopt
    std::vector<AbsentDevice> absent;  // in no list any more: read the checkpoint, then call may_release()
    std::optional<Instant> confirm;    // a list that begins then may confirm what this one suggests
  };

  // Compares a list with what is handed out now. Ignores resources that are not in `ours`.
  Findings judge(const PodListing& listing, const std::vector<HandedOutDevice>& handed_out,
                 const std::set<std::string>& ours);

  static bool may_release(const AbsentDevice& absent, CheckpointVerdict checkpoint);

 private:
  struct Evidence {
    Instant allocated;  // end of the last Allocate of the device
    std::optional<Instant> absent_since;
    std::optional<PodContainer> holder;  // last reported holder
    PodContainer earlier_holder;         // holder before that Allocate
  };
  using Holders = std::map<ResourceDevice, std::vector<PodContainer>>;

  void judge_device(const HandedOutDevice& device, const PodListing& listing, const Holders& holders,
                    Findings& findings);
  static const PodContainer& choose(const Evidence& evidence, const std::vector<PodContainer>& holders);

  std::map<ResourceDevice, Evidence> evidence_;  // for devices that are handed out
  std::map<ResourceDevice, Instant> strange_;    // time since which lists name them
};

}  // namespace cardcage
