// The state of a container as a runtime gives it to a hook on standard input.
//
// Source: runtime.md of the OCI runtime specification, "State".
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

#include "host/core/result.h"

namespace cardcage {

struct ContainerState {
  // The container's first process. Only a hook in the runtime's namespace gets its real number: a hook in the
  // container's namespaces gets 1, which counts as none.
  std::optional<pid_t> pid;
  std::string bundle;  // the folder with config.json; empty if the runtime does not tell
  // From annotations of containerd and CRI-O; empty if there are none.
  std::string pod_namespace, pod, pod_uid, sandbox;
};

Result<ContainerState> parse_container_state(std::string_view json);

}  // namespace cardcage
