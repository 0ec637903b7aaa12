// Changes GPUs for claims and writes the edits of their containers.
#pragma once

#include <cardcage/sdk.hpp>

#include "modules/nvidia/changes.h"
#include "modules/nvidia/companions.h"
#include "modules/nvidia/container_files.h"
#include "modules/nvidia/devices.h"
#include "modules/nvidia/driver.h"
#include "modules/nvidia/leftovers.h"
#include "modules/nvidia/mps.h"
#include "modules/nvidia/passthrough.h"

namespace cardcage::nvidia {

// The operator's choices.
struct ClaimPolicy {
  Capabilities capabilities;
  Companions companions;
  Leftovers leftovers = Leftovers::kReport;
  bool reset = false;  // resets each whole GPU when its claim is released
  bool passthrough = false;
};

class Claims {
 public:
  Claims(Driver& driver, cage::Host host, ClaimPolicy policy, Mps mps, Passthrough passthrough)
      : driver_(driver),
        host_(host),
        policy_(std::move(policy)),
        leftovers_(driver, host, policy_.leftovers),
        mps_(std::move(mps)),
        passthrough_(std::move(passthrough)) {}

  void prepare(const cage::Call& call, const cage::Claim& claim, cage::Edits& edits);
  // Works without a driver and for a lost GPU, whose changes have gone with it.
  void unprepare(const cage::Call& call, const cage::Claim& claim);
  // Whether unprepare() has to touch hardware.
  bool needs_hardware(const cage::Claim& claim) const;
  // Removes every MIG instance that no live claim has made.
  void remove_strangers(const std::vector<cage::Claim>& live);

 private:
  static Changes changes_of(const cage::Claim& claim);
  Target must_find(std::string_view device_id);
  std::optional<PciGpu> find_function(std::string_view device_id) const;

  Changes plan(const cage::Allocation& device);
  Changes plan_function(const PciGpu& function);
  void apply(const cage::Call& call, const cage::Claim& claim, cage::Edits& edits);
  // Returns the UUID of the GPU or MIG instance.
  std::string apply(const cage::Call& call, const cage::Allocation& device, const Majors& majors, cage::Edits& edits);
  void give_away(const cage::Call& call, const PciGpu& function);
  void add_driver(const Majors& majors, cage::Edit edit);

  void try_to_undo(const cage::Call& call, std::string_view claim_uid, const Changes& changes);
  // Undoes the changes outside of NVIDIA's driver.
  void undo_helpers(const cage::Call& call, std::string_view claim_uid, const Changes& changes);
  void undo_modes(const cage::Call& call, const Changes& changes);
  const SeenGpu* find_to_undo(const std::string& bus_id);
  void undo_time_slice(const cage::Call& call, const std::string& uuid);
  void remove_partition(const Changes::Partition& partition);
  void remove_stranger(const Changes::Partition& stranger);

  void reset_whole_gpus(const cage::Call& call, const cage::Claim& claim);

  Driver& driver_;
  cage::Host host_;
  const ClaimPolicy policy_;
  LeftoverProcesses leftovers_;
  const Mps mps_;
  const Passthrough passthrough_;
  std::vector<cage::Mount> mounts_;  // for the driver with that generation
  unsigned long long mounts_generation_ = 0;
};

}  // namespace cardcage::nvidia
