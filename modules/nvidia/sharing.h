// How containers share a device, by the parameters of NVIDIA's DRA driver.
//
// Source: resource.nvidia.com/v1beta1, kinds GpuConfig and MigDeviceConfig: validate.go and sharing.go of
// kubernetes-sigs/dra-driver-nvidia-gpu. As there, the last configuration for a device counts as a whole, and one that
// does not count may be invalid.
#pragma once

#include <cardcage/sdk.hpp>
#include <map>
#include <optional>
#include <string>

namespace cardcage::nvidia {

namespace field {
inline constexpr const char *kSharing = "sharing", *kStrategy = "sharing.strategy",
                            *kTimeSlicing = "sharing.timeSlicingConfig",
                            *kInterval = "sharing.timeSlicingConfig.interval", *kMps = "sharing.mpsConfig",
                            *kThreads = "sharing.mpsConfig.defaultActiveThreadPercentage",
                            *kMemory = "sharing.mpsConfig.defaultPinnedDeviceMemoryLimit",
                            *kMemories = "sharing.mpsConfig.defaultPerDevicePinnedMemoryLimit",
                            *kMultiUser = "sharing.mpsConfig.multiUser";
}  // namespace field

inline constexpr cage_str kStrategies[] = {CAGE_LIT("TimeSlicing"), CAGE_LIT("MPS")};
// Indexed by the number that nvidia-smi takes.
inline constexpr cage_str kIntervals[] = {CAGE_LIT("Default"), CAGE_LIT("Short"), CAGE_LIT("Medium"), CAGE_LIT("Long")};
constexpr unsigned kDefaultInterval = 0;

inline constexpr cage::Option kMigFields[] = {
    cage::Option::text(field::kStrategy, "TimeSlicing", "how containers share the device").one_of(kStrategies),
    cage::Option::integer(field::kThreads, "100", "how much of the device each program may use at a time, in percent")
        .range(0, 100),
    cage::Option::text(field::kMemory, "", "how much memory of each device a program may have, such as 4Gi").quantity(),
    cage::Option::map(field::kMemories, "the same for single devices, by UUID or by place in the order of UUIDs")
        .quantity(),
    cage::Option::boolean(field::kMultiUser, "false", "serve programs of different users at a time"),
};
inline constexpr cage::Option kGpuFields[] = {
    kMigFields[0],
    kMigFields[1],
    kMigFields[2],
    kMigFields[3],
    kMigFields[4],
    cage::Option::text(field::kInterval, "Default", "how long each may run at a time").one_of(kIntervals),
};

// Settings of an MPS control daemon, which serves all devices of a claim that request MPS.
struct MpsSettings {
  std::optional<unsigned> thread_percentage;
  std::optional<unsigned long long> memory_mib;  // limit on each device
  std::map<std::string, unsigned long long>
      memories_mib;  // limits on single devices, by UUID or by place in their order
  bool multi_user = false;
  friend bool operator==(const MpsSettings&, const MpsSettings&) = default;
};

struct Sharing {
  std::optional<unsigned> time_slice;  // the number that nvidia-smi compute-policy takes; 0 is the driver's default
  std::optional<MpsSettings> mps;
};

// With admin access, ignores sharing that a DeviceClass sets. Throws cage::Error if the claim sets it then, or if the
// parameters contradict each other.
Sharing sharing_of(const cage::Allocation& device);

}  // namespace cardcage::nvidia
