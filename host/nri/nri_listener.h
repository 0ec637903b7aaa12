// The daemon's callbacks for pod events of the container runtime.
#pragma once

#include <functional>
#include <vector>

#include "host/core/task.h"
#include "host/model/pod_sandbox.h"

namespace cardcage {

// [core] Calls for one pod come one at a time, in the runtime's order. The runtime waits for a call, but not for long
// (2 s by default). A call that takes longer continues, and the runtime learns of an error from `starting` and of
// success from `stopping`.
struct NriListener {
  // Called with all sandboxes of the runtime when the plugin has connected. Some may have stopped without being removed
  // yet: their network namespaces are gone, and their pods may have other sandboxes. Changes follow.
  std::function<void(std::vector<RuntimeSandbox> sandboxes)> connected;
  // The sandbox and its network exist, and no container runs. After an error, also of a call that took too long, the
  // runtime takes the sandbox down without a call of `stopping`.
  std::function<Task<Status>(RuntimeSandbox)> starting;
  // The containers have ended, and the sandbox's network still exists. May be called more than once for a sandbox.
  std::function<Task<void>(RuntimeSandbox)> stopping;
};

}  // namespace cardcage
