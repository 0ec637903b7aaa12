// The state of a container as a runtime gives it to a hook on standard input.
//
// Source: runtime.md of the OCI runtime specification, "State".
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "host/core/result.h"

namespace cardcage {

struct ContainerState {
  pid_t pid = 0;  // of the container's first process, as the runtime sees it
  // From annotations of containerd and CRI-O; empty if there are none.
  std::string pod_namespace, pod, pod_uid, sandbox;
};

Result<ContainerState> parse_container_state(std::string_view json);

}  // namespace cardcage
