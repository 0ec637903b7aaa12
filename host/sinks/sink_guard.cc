#include "host/sinks/sink_guard.h"

#include "host/core/log.h"

namespace cardcage {

cage_status SinkGuard::refuse_stranger() {
  const std::uint64_t count = ++strangers_;
  log_limited(LogLevel::kError, module_ + sink_ + "/stranger",
              "use of a sink refused: its call has ended, or this is another thread",
              {{"module", module_}, {"sink", sink_}, {"times", count}, {"rule", "R3"}});
  return CAGE_FAILED_PRECONDITION;
}

}  // namespace cardcage
