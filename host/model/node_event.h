// An Event on the node's object, as `kubectl describe node` shows it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

namespace cardcage {

// Limits of the Kubernetes API (pkg/apis/core/validation/events.go).
constexpr std::size_t kMaxEventReason = 128, kMaxEventNote = 1024;

struct NodeEvent {
  enum class Type : std::uint8_t { kNormal, kWarning } type = Type::kNormal;
  std::string node;    // node name
  std::string name;    // Event name: a DNS subdomain, the same for all repetitions
  std::string reason;  // CamelCase, at most kMaxEventReason bytes
  std::string note;    // for people, at most kMaxEventNote bytes
  std::chrono::system_clock::time_point first, last;
  std::int64_t count = 1;  // occurrences from `first` to `last`
  friend bool operator==(const NodeEvent&, const NodeEvent&) = default;
};

}  // namespace cardcage
