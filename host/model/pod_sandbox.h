// A pod's sandbox: the namespaces that its containers share.
#pragma once

#include <string>

namespace cardcage {

struct PodSandbox {
  std::string uid, name_space, name;  // of the pod
  std::string network_namespace;      // the path of a file that stands for it; empty = that of the node
  friend bool operator==(const PodSandbox&, const PodSandbox&) = default;
};

}  // namespace cardcage
