// A pod's sandbox: the namespaces that its containers share.
#pragma once

#include <string>

#include "host/core/unique_fd.h"

namespace cardcage {

struct PodSandbox {
  std::string uid, name_space, name;  // of the pod
  std::string network_namespace;      // the path of a file that stands for it; empty = that of the node
  friend bool operator==(const PodSandbox&, const PodSandbox&) = default;
};

// One as a module gets it.
struct SandboxedPod {
  std::string uid, name_space, name;
  // Of its network namespace, and a NETLINK_ROUTE socket in there.
  SharedFd network_namespace, route_socket;
};

}  // namespace cardcage
