// What a claim does to GPUs, and what its containers get.
#pragma once

#include <cardcage/sdk.hpp>

#include "modules/nvidia/changes.h"
#include "modules/nvidia/container_files.h"
#include "modules/nvidia/devices.h"
#include "modules/nvidia/driver.h"

namespace cardcage::nvidia {

class Claims {
 public:
  Claims(Driver& driver, cage::Host host, Capabilities capabilities)
      : driver_(driver), host_(host), capabilities_(std::move(capabilities)) {}

  void prepare(const cage::Call& call, const cage::Claim& claim, cage::Edits& edits);
  // Works without a driver and for a GPU that is lost: what it changed has gone with them.
  void unprepare(const cage::Call& call, const cage::Claim& claim);
  // What the claim has changed and not changed back.
  static Changes changes_of(const cage::Claim& claim);
  // Removes every MIG instance that no live claim has made.
  void remove_strangers(const std::vector<cage::Claim>& live);

 private:
  Target must_find(std::string_view device_id);
  Changes plan(const cage::Allocation& device, const Target& target, const Changes& before);
  void apply(const cage::Call& call, const cage::Allocation& device, const Target& target, const Majors& majors,
             cage::Edits& edits);
  void add_driver(const Majors& majors, cage::Edit edit);
  void undo(const cage::Call& call, const Changes& changes);
  void try_to_undo(const cage::Call& call, const Changes& changes);
  void remove_partition(const Changes::Partition& partition);
  void set_time_slice(const cage::Call& call, const std::string& uuid, unsigned interval);

  Driver& driver_;
  cage::Host host_;
  const Capabilities capabilities_;
  std::vector<cage::Mount> mounts_;  // of the driver with that generation
  unsigned long long mounts_generation_ = 0;
};

}  // namespace cardcage::nvidia
