// Health records that outlive the daemon: causes in effect, devices that operators keep away from new pods, and the
// history of both.
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

// A device, named by its module's id. A device that returns at another index or bus address is the same.
struct DeviceKey {
  std::string module, id;
  friend auto operator<=>(const DeviceKey&, const DeviceKey&) = default;
};

// A cause that is unhealthy, or was recently.
struct CauseRecord {
  DeviceKey device;
  Health health;  // health in effect; health.cause names the cause
  std::chrono::system_clock::time_point changed;
  std::chrono::system_clock::time_point stated;  // last statement that was as severe
  // Times at which it returned after its end, oldest first; limited to the window of its rule.
  std::vector<std::chrono::system_clock::time_point> relapses;
  bool quarantined = false;  // only an operator ends it
  friend bool operator==(const CauseRecord&, const CauseRecord&) = default;
};

// No new pod gets the device until an operator lifts the cordon. Pods that have it keep it. Survives a reboot.
struct CordonRecord {
  DeviceKey device;
  std::string name;        // Kubernetes name of the device
  std::string by, reason;  // for people; one line each
  std::chrono::system_clock::time_point since;
  friend bool operator==(const CordonRecord&, const CordonRecord&) = default;
};

// An attempt to reset a device; counted whether or not it succeeded.
struct ResetRecord {
  DeviceKey device;
  std::chrono::system_clock::time_point time;
  friend bool operator==(const ResetRecord&, const ResetRecord&) = default;
};
constexpr std::chrono::hours kResetPeriod{24};  // resets are counted over this period

enum class HealthEventKind : std::uint8_t {
  kBegan = 1,    // a cause took effect or got worse
  kEased = 2,    // less severe than before
  kEnded = 3,    // by its rule
  kCleared = 4,  // by an operator
  kQuarantined = 5,
  kGone = 6,  // the device left the list of its module
  kBack = 7,
  kCordoned = 8,  // by an operator, as is the next
  kUncordoned = 9,
  kReset = 10,        // by an operator, or as a remedy
  kResetFailed = 11,  // the message says why
};
std::string_view to_string(HealthEventKind kind);

struct HealthEvent {
  std::chrono::system_clock::time_point time;
  HealthEventKind kind = HealthEventKind::kBegan;
  DeviceKey device;
  std::string name;                           // Kubernetes name of the device; may be empty
  std::string cause;                          // empty if the entry is about the device
  HealthState state = HealthState::kUnknown;  // new state of the cause
  std::string reason, message;                // the cause's, or the operator's reason
  std::string by;                             // operator, "remedy", or empty
  friend bool operator==(const HealthEvent&, const HealthEvent&) = default;
};

// Empty members match everything. Newest first.
struct HealthQuery {
  std::string device;  // id or name
  std::string module;
  std::chrono::system_clock::time_point since{};
  std::int64_t limit = 100;
};

// [core] Stores the health records. A call waits for the disk only if it returns a task.
class HealthStore {
 public:
  virtual ~HealthStore() = default;

  // The records as of opening, with all later changes.
  virtual std::vector<CauseRecord> causes(const std::string& module) const = 0;
  virtual std::vector<CordonRecord> cordons(const std::string& module) const = 0;
  // The attempts within the last kResetPeriod, oldest first.
  virtual std::vector<ResetRecord> resets(const std::string& module) const = 0;

  // Replaces the record for the same device and cause.
  virtual void keep(CauseRecord record) = 0;
  virtual void forget(const DeviceKey& device, const std::string& cause) = 0;
  // A cordon takes effect once it is on the disk.
  virtual Task<Status> keep(CordonRecord record) = 0;
  virtual Task<Status> forget_cordon(DeviceKey device) = 0;
  // Returns once the record is on the disk.
  virtual Task<Status> keep(ResetRecord record) = 0;
  virtual void note(HealthEvent event) = 0;
  virtual Task<Result<std::vector<HealthEvent>>> health_history(HealthQuery query) = 0;
};

}  // namespace cardcage
