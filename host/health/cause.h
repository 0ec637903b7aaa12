// One cause of one device: the statements about it, the one that counts, and how it ends.
//
//            stated not healthy            has lasted for hold_down
//   well ---------------------------> pending ---------------------> counts <-----+
//    ^ ^                                 |                             |          | stated again
//    | +---------------------------------+ stated healthy              v          |
//    +-------------------------------------------------------------- ending ------+
//                        the recovery rule holds
//
// Pure: time comes with each call. The state that counts never gets milder except by its recovery rule or by an
// operator, and never stays bad without a live cause. Of several statements at the same instant the worst counts, in
// any order.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
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

// Converts times of an earlier daemon to the monotonic clock, and back. A time in the future becomes now: the time of
// day jumps.
Instant instant_of(std::chrono::system_clock::time_point wall, Moment now);
std::chrono::system_clock::time_point wall_of(Instant instant, Moment now);

// A cause that comes back, or gets worse again, within the window of its rule (10 min without one) has to stay away
// longer each time: from the third time on for 10 s, 20 s, 40 s, ..., at most for the window.
//
// Each statement is judged by the rule for its own reason, for as long as it counts.
class Cause {
 public:
  Cause(const RuleOf& rule_of, Health stated, Moment now);
  // Restores a cause from an earlier daemon: it counts until its rule ends it, though nothing is stated yet.
  Cause(const RuleOf& rule_of, const CauseRecord& record, Moment now);

  // All return true if the health that counts has changed, also in its text; a new value alone is not a change.
  bool state(const RuleOf& rule_of, Health stated, Moment now);
  // Call it when time has passed, at due() at the latest, or when the rules have changed.
  bool advance(const RuleOf& rule_of, Moment now);
  // Called when an operator ends the cause. A statement that still stands and is not healthy counts again at its next
  // repetition, and not as a relapse.
  bool clear(const RuleOf& rule_of, Moment now);

  // The earliest time of a change without a call.
  Instant due() const { return self_.due; }
  // The health that counts; kHealthy if nothing does.
  const CauseHealth& counts() const { return self_.counts; }
  bool quarantined() const { return self_.quarantined; }
  // The reason that selects the rule of the statement that counts, or of the newest one if none counts.
  const std::string& reason() const {
    return self_.level > 0 ? self_.newest.at(self_.level).health.reason : self_.stated.reason;
  }
  // The time of the last statement as bad as the one that counts.
  Instant stated() const { return self_.said.at(self_.level); }
  // The part that a restart of the daemon must not lose; nothing if the cause is well and was so for long.
  std::optional<CauseRecord> record(const RuleOf& rule_of, const DeviceKey& device, Moment now) const;

 private:
  static constexpr std::size_t kLevels = 5;  // number of values of severity(HealthState)
  // A statement that is over though it still stands has no effect until it is repeated.
  enum class Over : std::uint8_t { kNo, kByTime, kByOperator };
  struct Said {
    Health health;        // as stated
    bool silent = false;  // it was not repeated in time
  };
  struct Self {
    Health stated;  // the newest statement
    Instant stated_at = Instant::min();
    int stated_level = 0;  // its level by the rules in force when it was stated
    bool beyond = false;   // the last value was beyond its limit
    bool silent = false;
    Over over = Over::kNo;
    int judged = 0;  // level of the standing statement
    int level = 0;   // level that counts
    std::optional<double> value;
    Instant value_changed = Instant::min(), began = Instant::min();
    // The time since when `judged` has been at least that level (levels up to `judged`), or below it (the others).
    std::array<Instant, kLevels> turned{};
    // The time of the last statement of at least that level.
    std::array<Instant, kLevels> said{};
    // The newest statement of each level from 1 on that counts or may count later.
    std::map<int, Said> newest;
    std::optional<Instant> ended;   // while well: the end of the last time that it counted
    bool eased = false;             // the level that counts was higher before
    std::vector<Instant> relapses;  // oldest first
    std::vector<Instant> returns;   // relapses, and rises after it had eased; they damp it
    Duration damping{0}, window{0};
    bool quarantined = false;
    CauseHealth counts;
    Instant due = Instant::max();
  };

  void apply(const RuleOf& rule_of, Health stated, Instant now);
  bool settle(const RuleOf& rule_of, Moment now);
  void judge_anew(const RuleOf& rule_of, Instant now);
  void judge_standing(const RuleOf& rule_of, Instant now);
  void set_judged(int level, Instant at);
  void fall_silent(const RuleOf& rule_of, Instant now);
  void worsen(const RuleOf& rule_of, Instant now);
  void begin(const HealthRule& rule, Instant now);
  void recover(const RuleOf& rule_of, Instant now);
  void set_level(int level, Instant now);
  void forget_old(Instant now);
  Instant silent_at(const RuleOf& rule_of) const;
  Instant recovers_at(const RuleOf& rule_of) const;
  Instant next(const RuleOf& rule_of) const;
  CauseHealth shown(const RuleOf& rule_of) const;
  bool show(CauseHealth next, Moment now);

  Self self_;
  // The state before the first statement of the newest instant, if something is not healthy: a worse statement at the
  // same instant replaces the first without a trace.
  std::unique_ptr<Self> before_;
};

}  // namespace cardcage
