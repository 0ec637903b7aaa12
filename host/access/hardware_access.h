// Makes an access to the hardware in a process of its own, so that only that process blocks if the kernel never ends
// it.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "host/access/stuck_devices.h"
#include "host/core/clock.h"
#include "host/wire/messages.h"

namespace cardcage {

struct HardwareAccess {
  DeviceKey device;
  std::string what;  // "a write to '/sys/.../reset'"
  wire::Access message;
};

// [core] Returns the content read, or the argument of the ioctl. The process is killed at the deadline or by the caller
// of `started`; if it does not end then, the device counts as stuck until it does. Fails at once for a device that is
// stuck already. All arguments live until the task ends.
Task<Result<std::string>> make_access(asio::io_context& core, Clock& clock, HardwareAccess access, Instant deadline,
                                      std::shared_ptr<StuckDevices> stuck,
                                      std::function<void(std::shared_ptr<RunningAccess>)> started);

}  // namespace cardcage
