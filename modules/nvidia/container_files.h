// The files of the driver that a container needs, without NVIDIA's container toolkit on the node.
//
// Each library is mounted under the names by which programs load it (its SONAME, and links such as libcuda.so), in the
// folders that glibc searches without a cache: /usr/lib64 of Red Hat's images and /usr/lib/x86_64-linux-gnu of
// Debian's. The names that few programs load, with the version or for linking, are in the first of them, since each
// mount costs time. CDI has no links: where the driver has one, its target is mounted under the name of the link.
//
// The host's hook adds these folders to the cache of the container's loader as well, for programs that read it and for
// images that have another driver in theirs. Nothing depends on it where the host delivers without hooks.
#pragma once

#include <cardcage/sdk.hpp>
#include <optional>
#include <string>
#include <vector>

#include "modules/nvidia/capabilities.h"
#include "modules/nvidia/node.h"

namespace cardcage::nvidia {

// Makes the container's loader search the folders with the libraries first. An image that has the CUDA compatibility
// libraries of a driver newer than `driver_version` uses those, as with NVIDIA's container toolkit.
void show_libraries(cage::Edit edit, const std::string& driver_version, const Capabilities& wanted);

// The mounts of every container with a GPU: libraries, programs, firmware, and files of OpenCL, Vulkan, EGL and the X
// server. They change only with the driver.
std::vector<cage::Mount> driver_mounts(const Node& node, const DriverFile& nvml, const Capabilities& wanted);
// The sockets of the driver's daemons that run.
std::vector<cage::Mount> socket_mounts(const Node& node, const Capabilities& wanted);
// The folder of an MPS control daemon that runs on the node and serves every program that finds it. Not for claims that
// have a daemon of their own.
std::optional<cage::Mount> node_mps_mount(const Node& node, const Capabilities& wanted);

}  // namespace cardcage::nvidia
