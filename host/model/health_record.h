// What of the health of devices outlives the daemon: causes that count, devices that operators keep away from new
// pods, and the history of both.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "host/core/task.h"
#include "host/model/health.h"

namespace cardcage {

// A device, by the id that its module gave it. A device that comes back at another index or bus address is the same.
struct DeviceKey {
  std::string module, id;
  friend auto operator<=>(const DeviceKey&, const DeviceKey&) = default;
};

// A cause that is not healthy, or was so lately.
struct CauseRecord {
  DeviceKey device;
  Health health;  // what counts; health.cause names the cause
  std::chrono::system_clock::time_point changed;
  std::chrono::system_clock::time_point stated;  // when something as bad was stated last
  // When it came back after its end, oldest first; bounded by what its rule looks at.
  std::vector<std::chrono::system_clock::time_point> relapses;
  bool quarantined = false;  // only an operator ends it
  friend bool operator==(const CauseRecord&, const CauseRecord&) = default;
};

// No new pod gets the device until an operator says otherwise. Pods that have it keep it. Survives a reboot.
struct CordonRecord {
  DeviceKey device;
  std::string name;        // as Kubernetes calls the device
  std::string by, reason;  // for people; one line each
  std::chrono::system_clock::time_point since;
  friend bool operator==(const CordonRecord&, const CordonRecord&) = default;
};

// An attempt to reset a device, which counts whatever comes of it.
struct ResetRecord {
  DeviceKey device;
  std::chrono::system_clock::time_point time;
  friend bool operator==(const ResetRecord&, const ResetRecord&) = default;
};
constexpr std::chrono::hours kResetPeriod{24};  // in which resets are counted

enum class HealthEventKind : std::uint8_t {
  kBegan = 1,    // a cause counts, or is worse than before
  kEased = 2,    // it is less severe than before
  kEnded = 3,    // by its rule
  kCleared = 4,  // by an operator
  kQuarantined = 5,
  kGone = 6,  // the device left the list of its module
  kBack = 7,
  kCordoned = 8,  // by an operator, as the next
  kUncordoned = 9,
  kReset = 10,        // by an operator, or as a remedy
  kResetFailed = 11,  // the message says why
};
std::string_view to_string(HealthEventKind kind);

struct HealthEvent {
  std::chrono::system_clock::time_point time;
  HealthEventKind kind = HealthEventKind::kBegan;
  DeviceKey device;
  std::string name;                           // as Kubernetes called the device; may be empty
  std::string cause;                          // empty if it is about the device
  HealthState state = HealthState::kUnknown;  // of the cause, from then on
  std::string reason, message;                // of the cause; or why the operator did it
  std::string by;                             // the operator, "remedy", or empty
  friend bool operator==(const HealthEvent&, const HealthEvent&) = default;
};

// Empty members match everything. Newest first.
struct HealthQuery {
  std::string device;  // its id, or its name
  std::string module;
  std::chrono::system_clock::time_point since{};
  std::int64_t limit = 100;
};

// [core] Where the daemon keeps all that. Nobody waits for the disk unless a task says so.
class HealthStore {
 public:
  virtual ~HealthStore() = default;

  // As they were when the store was opened, and as changed since.
  virtual std::vector<CauseRecord> causes(const std::string& module) const = 0;
  virtual std::vector<CordonRecord> cordons(const std::string& module) const = 0;
  // The attempts of the last kResetPeriod, oldest first.
  virtual std::vector<ResetRecord> resets(const std::string& module) const = 0;

  // Replaces the record of the same device and cause.
  virtual void keep(CauseRecord record) = 0;
  virtual void forget(const DeviceKey& device, const std::string& cause) = 0;
  // A cordon counts when it is on the disk.
  virtual Task<Status> keep(CordonRecord record) = 0;
  virtual Task<Status> forget_cordon(DeviceKey device) = 0;
  // Returns when it is on the disk.
  virtual Task<Status> keep(ResetRecord record) = 0;
  virtual void note(HealthEvent event) = 0;
  virtual Task<Result<std::vector<HealthEvent>>> health_history(HealthQuery query) = 0;
};

}  // namespace cardcage
