// Processes that are on a GPU although no claim has it.
#pragma once

#include <cardcage/sdk.hpp>
#include <optional>
#include <string>
#include <vector>

#include "modules/nvidia/devices.h"
#include "modules/nvidia/driver.h"
#include "modules/nvidia/processes.h"

namespace cardcage::nvidia {

enum class Leftovers {
  kReport,  // the log names them
  kWait,    // prepare and unprepare fail until they have ended
  kEnd,     // unprepare ends them
};

// Whether other claims may use the device at the same time, so that its processes may be theirs.
inline bool has_company(const cage::Allocation& device) { return device.admin() || !device.share().empty(); }

class LeftoverProcesses {
 public:
  LeftoverProcesses(Driver& driver, cage::Host host, Leftovers policy)
      : driver_(driver), host_(host), policy_(policy) {}

  // Applies the policy before a claim gets the device. `function` is set if a virtual machine gets it, which a process
  // always prevents. Throws cage::Error.
  void require_none(const cage::Allocation& device, const std::optional<PciGpu>& function);
  // Applies the policy to the devices of a claim that is released. Throws cage::Error.
  void end(const cage::Call& call, const cage::Claim& claim);

 private:
  void end(const cage::Call& call, const cage::Allocation& device);
  // Returns the processes that were not killed and the reasons; empty if all were killed.
  std::string kill(const Target& target, const std::vector<GpuProcess>& processes) const;
  // Empty if the processes cannot be listed.
  std::vector<GpuProcess> processes_of(const Target& target);
  // Bytes in use on a whole GPU; 0 if unknown.
  unsigned long long memory_in_use(const Target& target);

  Driver& driver_;
  const cage::Host host_;
  const Leftovers policy_;
};

}  // namespace cardcage::nvidia
