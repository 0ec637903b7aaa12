// Events that a module subscribes to, and those not delivered yet [R20].
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "host/core/task.h"

namespace cardcage {

constexpr std::size_t kMaxWatched = 32, kMaxWatchedText = 128;  // entries of each kind; bytes of one entry
constexpr std::size_t kMaxEvents = 256;                         // events queued for a module
constexpr std::size_t kMaxEventText = 64u << 10;                // bytes of all events queued for a module
constexpr std::size_t kMaxDescriptors = 64;                     // descriptors that the host polls for an instance

struct WatchDeclaration {
  std::vector<std::string> kernel_log;  // message prefixes
  std::vector<std::string> uevents;     // subsystems
  friend bool operator==(const WatchDeclaration&, const WatchDeclaration&) = default;
};

// The values are those of cage_event.
enum class EventType : std::uint8_t { kKernelLog = 1, kUevent = 2, kDescriptor = 3 };

struct Event {
  EventType type = EventType::kKernelLog;
  Instant time;
  std::string text;  // the message, or the lines of a uevent
  std::int32_t descriptor = -1;
  friend bool operator==(const Event&, const Event&) = default;
};

struct EventBatch {
  std::vector<Event> events;  // oldest first
  bool lost = false;          // events before these were dropped
  friend bool operator==(const EventBatch&, const EventBatch&) = default;
};

}  // namespace cardcage
