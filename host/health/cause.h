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

// Times of an earlier daemon on the monotonic clock, and back. A time in the future becomes now: the time of day jumps.
Instant instant_of(std::chrono::system_clock::time_point wall, Moment now);
std::chrono::system_clock::time_point wall_of(Instant instant, Moment now);

// A cause that comes back, or gets worse again, within the window of its rule (10 min without one) has to stay away
// longer each time: from the third time on for 10 s, 20 s, 40 s, ..., at most for the window.
//
// Each statement is judged by the rule for its own reason, for as long as it counts.
class Cause {
 public:
  Cause(const RuleOf& rule_of, Health stated, Moment now);
  // From an earlier daemon: counts until its rule ends it, though nothing is stated yet.
  Cause(const RuleOf& rule_of, const CauseRecord& record, Moment now);

  // All return true if what counts has changed, in its text too; a new value alone is no change.
  bool state(const RuleOf& rule_of, Health stated, Moment now);
  // Time has passed, or the rules are others. Call it at due() at the latest.
  bool advance(const RuleOf& rule_of, Moment now);
  // An operator says that it is over. A statement that still stands and is not healthy counts again at its next
  // repetition, and not as a relapse.
  bool clear(const RuleOf& rule_of, Moment now);

  // Nothing changes by itself before then.
  Instant due() const { return self_.due; }
  // What counts; kHealthy if nothing does.
  const CauseHealth& counts() const { return self_.counts; }
  bool quarantined() const { return self_.quarantined; }
  // What the rule of what counts is chosen by; of the newest statement if nothing counts.
  const std::string& reason() const {
    return self_.level > 0 ? self_.newest.at(self_.level).health.reason : self_.stated.reason;
  }
  // When something as bad as what counts was stated last.
  Instant stated() const { return self_.said.at(self_.level); }
  // What a restart of the daemon must not lose; nothing if it is well and was so for long.
  std::optional<CauseRecord> record(const RuleOf& rule_of, const DeviceKey& device, Moment now) const;

 private:
  static constexpr std::size_t kLevels = 5;  // of severity(HealthState)
  // A statement that is over though it still stands says nothing until it is repeated.
  enum class Over : std::uint8_t { kNo, kByTime, kByOperator };
  struct Said {
    Health health;        // as stated
    bool silent = false;  // it was not repeated in time
  };
  struct Self {
    Health stated;  // the newest statement
    Instant stated_at = Instant::min();
    int stated_level = 0;  // as it was judged when it was stated
    bool beyond = false;   // the last value was beyond its limit
    bool silent = false;
    Over over = Over::kNo;
    int judged = 0;  // the level of what stands now
    int level = 0;   // of what counts
    std::optional<double> value;
    Instant value_changed = Instant::min(), began = Instant::min();
    // Since when what was judged has been at least that level (levels up to `judged`), or below it (the others).
    std::array<Instant, kLevels> turned{};
    // When something of at least that level was stated last.
    std::array<Instant, kLevels> said{};
    // The newest statement of each level from 1 on that counts or may count later.
    std::map<int, Said> newest;
    std::optional<Instant> ended;   // while well: when it counted last
    bool eased = false;             // what counts was worse before
    std::vector<Instant> relapses;  // oldest first
    std::vector<Instant> returns;   // these, and when it got worse again after it had eased; they damp it
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
  // Before the first statement of the newest instant, if something is not healthy: a worse one at the same instant
  // replaces it without a trace.
  std::unique_ptr<Self> before_;
};

}  // namespace cardcage
