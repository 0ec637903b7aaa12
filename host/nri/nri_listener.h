// What the daemon does when the container runtime tells of pods.
#pragma once

#include <functional>
#include <vector>

#include "host/core/task.h"
#include "host/model/runtime_sandbox.h"

namespace cardcage {

// [core] One call at a time for each pod, in the order of the runtime's. The runtime waits for a call, but not for long
// (2 s by default). A call that takes longer goes on, and the runtime learns of an error from `starting` and of success
// from `stopping`.
struct NriListener {
  // All sandboxes that the runtime has; called when the plugin has connected. Some may have stopped and not be removed
  // yet: their network namespaces are gone, and their pods may have others. Changes follow.
  std::function<void(std::vector<RuntimeSandbox> sandboxes)> connected;
  // The sandbox and its network exist, and no container runs. After an error, also that of a call that took too long,
  // the runtime takes the sandbox down without a call of `stopping`.
  std::function<Task<Status>(RuntimeSandbox)> starting;
  // The containers have ended, and the sandbox's network still exists. It may come more than once for a sandbox.
  std::function<Task<void>(RuntimeSandbox)> stopping;
};

}  // namespace cardcage
