// An access to the hardware in a process of its own, so that nothing else waits if the kernel never ends it.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "host/core/clock.h"
#include "host/module/stuck_devices.h"
#include "host/wire/messages.h"

namespace cardcage {

struct HardwareAccess {
  DeviceKey device;
  std::string what;  // "a write to '/sys/.../reset'"
  wire::Access message;
};

// [core] Returns the content that was read, or the argument of the ioctl. At the deadline, or by the caller of
// `started`, the process is killed; if it does not end then, the device counts as stuck until it does. Fails at once if
// the device is stuck already. All arguments live until the task ends.
Task<Result<std::string>> make_access(asio::io_context& core, Clock& clock, HardwareAccess access, Instant deadline,
                                      std::shared_ptr<StuckDevices> stuck,
                                      std::function<void(std::shared_ptr<RunningAccess>)> started);

}  // namespace cardcage
