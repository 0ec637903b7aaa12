// The files of the driver that a container needs, without NVIDIA's container toolkit on the node.
//
// Each library is mounted under the name by which programs look for it (its SONAME), in the folders that glibc searches
// without a cache: /usr/lib64 of Red Hat's images and /usr/lib/x86_64-linux-gnu of Debian's. The host's hook adds these
// folders to the cache of the container's loader as well, for programs that read it and images that have another driver
// in theirs; nothing depends on it where the host delivers without hooks.
#pragma once

#include <cardcage/sdk.hpp>
#include <set>
#include <string>
#include <vector>

#include "modules/nvidia/node.h"

namespace cardcage::nvidia {

// What a container wants to do, as NVIDIA_DRIVER_CAPABILITIES of the container toolkit names it.
enum class Capability { compute, utility, video, graphics, display };
using Capabilities = std::set<Capability>;
// Throws cage::Error for an unknown word. "all" is every capability.
Capabilities parse_capabilities(const std::vector<std::string_view>& words);

// Adds the folders with the libraries to what the container's loader searches first. An image that has the CUDA
// compatibility libraries of a driver newer than `driver_version` uses those, as with NVIDIA's container toolkit.
void show_libraries(cage::Edit edit, const std::string& driver_version, const Capabilities& wanted);

// The mounts of every container with a GPU: libraries, programs, firmware, and files of Vulkan and EGL. They change
// only with the driver.
std::vector<cage::Mount> driver_mounts(const Node& node, const DriverFile& nvml, const Capabilities& wanted);
// The sockets of those daemons of the driver that run.
std::vector<cage::Mount> socket_mounts(const Node& node, const Capabilities& wanted);

}  // namespace cardcage::nvidia
