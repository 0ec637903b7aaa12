// One cause of one device: what was stated about it, what counts of that, and how it ends.
//
//            stated not healthy            has lasted for hold_down
//   well ---------------------------> pending ---------------------> counts <-----+
//    ^ ^                                 |                             |          | stated again
//    | +---------------------------------+ stated healthy              v          |
//    +-------------------------------------------------------------- ending ------+
//                        the recovery rule holds
//
// Pure: time comes with each call. What counts never gets milder but by the recovery rule of the state that counts or
// by an operator, and never stays bad without a live cause. Of several statements at the same instant the worst counts,
// whatever their order.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "host/health/rule.h"
#include "host/model/health.h"
#include "host/model/health_record.h"

namespace cardcage {

// The same instant on both clocks. The monotonic one decides; the other is for people and for the disk.
struct Moment {
  Instant now;
  std::chrono::system_clock::time_point wall;
};

// A cause that comes back within the window of its rule (10 min without one) has to stay away longer each time: from
// the third relapse on for 10 s, 20 s, 40 s, ..., at most for the window.
class Cause {
 public:
  Cause(const HealthRule& rule, Health stated, Moment now);
  // From an earlier daemon: counts until its rule ends it, though nothing is stated yet.
  Cause(const HealthRule& rule, const CauseRecord& record, Moment now);

  // All return true if what counts has changed, in its text too.
  bool state(const HealthRule& rule, Health stated, Moment now);
  // Time has passed, or the rule is another one. Call it at due() at the latest.
  bool advance(const HealthRule& rule, Moment now);
  // An operator says that it is over. A statement that still stands and is not healthy counts again at its next
  // repetition, and not as a relapse.
  bool clear(Moment now);

  // Nothing changes by itself before then.
  Instant due() const;
  // What counts; kHealthy if nothing does.
  const CauseHealth& counts() const;
  bool quarantined() const;
  // What its rule was chosen by: the reason of the newest statement.
  const std::string& stated_reason() const;
  // What a restart of the daemon must not lose; nothing if it is well and was so for long.
  std::optional<CauseRecord> record(const DeviceKey& device, Moment now) const;
};

}  // namespace cardcage
