// A pod's sandbox: the namespaces that its containers share.
#pragma once

#include <string>

#include "host/core/unique_fd.h"

namespace cardcage {

struct PodSandbox {
  std::string uid, name_space, name;  // the pod's
  std::string network_namespace;      // path of the namespace's file; empty = the node's namespace
  friend bool operator==(const PodSandbox&, const PodSandbox&) = default;
};

// A pod's sandbox as the container runtime reports it.
struct RuntimeSandbox {
  std::string id;
  PodSandbox pod;
  friend bool operator==(const RuntimeSandbox&, const RuntimeSandbox&) = default;
};

// A sandboxed pod in the form that a module gets.
struct SandboxedPod {
  std::string uid, name_space, name;
  // The pod's network namespace, and a NETLINK_ROUTE socket in it.
  SharedFd network_namespace, route_socket;
  std::string network_namespace_path = {};  // empty if the container runtime did not report it
};

}  // namespace cardcage
