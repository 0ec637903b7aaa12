// The two places where the kernel reports events: its log and its uevents.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>

#include "host/events/kernel_record.h"
#include "host/events/record_reader.h"

namespace cardcage {

template <class What>
struct KernelListener {
  std::function<void(const What&)> heard;
  std::function<void()> lost;
  // The reader is unusable from here on. The listener may destroy it.
  std::function<void(Error)> failed;
};

// [core] Both begin with events from now on. Errors name the missing file or right.
//
// `place` is /dev/kmsg except in tests. Source: Documentation/ABI/testing/dev-kmsg of the kernel.
Result<std::unique_ptr<RecordReader>> watch_kernel_log(asio::io_context& core, Clock& clock,
                                                       const std::filesystem::path& place,
                                                       KernelListener<KernelMessage> listener);
// Receives only the uevents of the kernel itself; programs such as udevd send to the same address family.
//
// Source: lib/kobject_uevent.c of the kernel, and netlink(7).
Result<std::unique_ptr<RecordReader>> watch_uevents(asio::io_context& core, Clock& clock,
                                                    KernelListener<Uevent> listener);

}  // namespace cardcage
