// What a module is woken for, and what it has not been told yet [R20].
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "host/core/task.h"

namespace cardcage {

constexpr std::size_t kMaxWatched = 32, kMaxWatchedText = 128;  // of each kind; bytes of one
constexpr std::size_t kMaxEvents = 256;                         // that wait for a module
constexpr std::size_t kMaxEventText = 64u << 10;                // of all events that wait for a module
constexpr std::size_t kMaxDescriptors = 64;                     // that the host polls for an instance

struct WatchDeclaration {
  std::vector<std::string> kernel_log;  // beginnings of messages
  std::vector<std::string> uevents;     // subsystems
  friend bool operator==(const WatchDeclaration&, const WatchDeclaration&) = default;
};

// The numbers are those of cage_event.
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
  bool lost = false;          // some before these were dropped
  friend bool operator==(const EventBatch&, const EventBatch&) = default;
};

}  // namespace cardcage
