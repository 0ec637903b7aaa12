// Reports of health that wait for the host, by device and cause.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "host/model/health.h"
#include "host/sinks/snapshot_sink.h"

namespace cardcage {

// Bounded for any reports of a module, also about devices that it makes up: in devices, in causes and in bytes.
class KeptHealth {
 public:
  // Far more than a snapshot of kMaxDevices needs with messages of the usual length.
  static constexpr std::size_t kMaxBytes = 16u << 20;
  enum class Outcome { kKept, kTooManyCauses, kTooMuch };

  // Replaces a report about the same device and cause.
  Outcome put(const std::string& device_id, const Health& health) {
    const auto known = devices_.find(device_id);
    const bool fresh = known == devices_.end();
    if (fresh && devices_.size() >= kMaxDevices) return Outcome::kTooMuch;
    const std::size_t replaced = fresh ? 0 : size_of(known->second, health.cause);
    const std::size_t added = size_of(health.cause, health) + (fresh ? device_id.size() : 0);
    if (added > replaced && bytes_ - replaced + added > kMaxBytes) return Outcome::kTooMuch;
    Statements& statements = fresh ? devices_[device_id] : known->second;
    const std::size_t before = size_of(statements);
    if (!cardcage::put(statements, health)) return Outcome::kTooManyCauses;
    bytes_ += size_of(statements) - before + (fresh ? device_id.size() : 0);
    return Outcome::kKept;
  }
  // Returns all reports and forgets them.
  std::map<std::string, Statements> take() {
    bytes_ = 0;
    return std::exchange(devices_, {});
  }

 private:
  static std::size_t size_of(const std::string& cause, const Health& health) {
    return sizeof(Statements::value_type) + 2 * cause.size() + health.reason.size() + health.message.size() +
           health.taint_key.size() + health.taint_value.size();
  }
  static std::size_t size_of(const Statements& statements) {
    std::size_t size = 0;
    for (const auto& [cause, health] : statements) size += size_of(cause, health);
    return size;
  }
  static std::size_t size_of(const Statements& statements, const std::string& cause) {
    const auto found = statements.find(cause);
    return found == statements.end() ? 0 : size_of(cause, found->second);
  }

  std::map<std::string, Statements> devices_;
  std::size_t bytes_ = 0;
};

}  // namespace cardcage
