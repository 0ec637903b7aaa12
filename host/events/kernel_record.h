// Reads messages of the kernel: records of its log, and uevents.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "host/core/task.h"

namespace cardcage {

struct KernelMessage {
  Instant time;      // by the kernel's own clock, which is close to CLOCK_MONOTONIC
  std::string text;  // UTF-8
  friend bool operator==(const KernelMessage&, const KernelMessage&) = default;
};

struct Uevent {
  Instant time;           // when it was read
  std::string subsystem;  // "pci"
  std::string text;       // "ACTION=change\nDEVPATH=/devices/...\nSUBSYSTEM=pci\n...", UTF-8
  friend bool operator==(const Uevent&, const Uevent&) = default;
};

// A record of /dev/kmsg: "6,339,5140900,-;NET: Registered protocol family 10\n SUBSYSTEM=net\n". Nothing if it has
// another form.
//
// Source: Documentation/ABI/testing/dev-kmsg of the kernel.
std::optional<KernelMessage> read_kernel_record(std::string_view record);

// A datagram of NETLINK_KOBJECT_UEVENT: "change@/devices/...\0ACTION=change\0DEVPATH=/devices/...\0...". Nothing if it
// has another form.
//
// Source: lib/kobject_uevent.c of the kernel.
std::optional<Uevent> read_uevent(std::string_view datagram, Instant now);

}  // namespace cardcage
