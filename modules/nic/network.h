// Network namespaces: that of the node, in which the module runs, and those of pods.
#pragma once

#include <functional>

namespace cardcage::nic {

class NodeNetwork {
 public:
  // Throws std::system_error.
  NodeNetwork();
  NodeNetwork(const NodeNetwork&) = delete;
  NodeNetwork& operator=(const NodeNetwork&) = delete;
  ~NodeNetwork();
  int descriptor() const { return descriptor_; }

 private:
  const int descriptor_;
};

// Runs the step in a thread of its own, which is in the namespace. Throws what the step throws, and std::system_error
// with EPERM if the module may not enter the namespace: it lacks CAP_SYS_ADMIN, or is confined.
void in_network(int network_namespace, const std::function<void()>& step);

}  // namespace cardcage::nic
