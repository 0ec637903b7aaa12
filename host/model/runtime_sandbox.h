// A pod's sandbox as the container runtime reports it.
#pragma once

#include <string>

#include "host/model/pod_sandbox.h"

namespace cardcage {

struct RuntimeSandbox {
  std::string id;
  PodSandbox pod;
  friend bool operator==(const RuntimeSandbox&, const RuntimeSandbox&) = default;
};

}  // namespace cardcage
