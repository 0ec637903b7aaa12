// Makes and removes MIG instances.
#pragma once

#include "modules/nvidia/changes.h"
#include "modules/nvidia/mig.h"

namespace cardcage::nvidia {

// Makes the GPU instance of the profile at the memory slice with a compute instance that takes all of it, or finds the
// existing one. MIG mode must be on. Throws nvml::Failure.
MigInstance make_instance(const nvml::Library& nvml, nvml::Device device, const Gpu& gpu, const MigProfile& profile,
                          nvml::Placement placement);
// Removes the instance at this place, if there is one. Throws nvml::Failure, with kInUse while a process runs on it.
void remove_instance(const nvml::Library& nvml, nvml::Device device, const Gpu& gpu, unsigned profile, unsigned start);

struct InstancePlace {
  unsigned profile = 0, start = 0;  // id; first memory slice
};
// The places of all GPU instances, including those without a compute instance.
std::vector<InstancePlace> instance_places(const nvml::Library& nvml, nvml::Device device,
                                           const std::vector<MigProfile>& profiles);

// Does nothing if the mode is on. Throws cage::Error if it cannot change without a reset of the GPU or a restart of its
// virtual machine, or does not change at once: then nothing stays pending.
void enable_mig(const nvml::Library& nvml, nvml::Device device, const Gpu& gpu);
// Turns MIG mode off if the GPU has no instance left and can be switched back without a reset; does nothing otherwise.
// Throws as enable_mig() does.
void disable_unused_mig(const nvml::Library& nvml, nvml::Device device, const Gpu& gpu);
// The same for a GPU that a claim needs as a whole. Throws cage::Error if MIG mode stays on.
void require_mig_off(const nvml::Library& nvml, nvml::Device device, const Gpu& gpu);

}  // namespace cardcage::nvidia
