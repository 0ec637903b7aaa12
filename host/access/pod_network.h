// A pod's network namespace, in the form that modules get.
#pragma once

#include <filesystem>

#include "host/core/descriptors.h"
#include "host/core/result.h"

namespace cardcage {

struct PodNetwork {
  SharedFd network_namespace, route_socket;
  ino_t number = 0;  // inode number of net:[4026532281]
};

// Fails with kFailedPrecondition for the node's own namespace, which pods with hostNetwork have: no device can be moved
// there.
Result<PodNetwork> open_pod_network(UniqueFd network_namespace);
Result<PodNetwork> open_pod_network(const std::filesystem::path& network_namespace);

}  // namespace cardcage
