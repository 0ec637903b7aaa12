// SPDX-License-Identifier: Apache-2.0
// The health of devices, and the causes that a module declares. Included by sdk.hpp.
#ifndef CARDCAGE_SDK_HEALTH_HPP_
#define CARDCAGE_SDK_HEALTH_HPP_

#include <cardcage/sdk/text.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace cage {

enum class Taint : std::uint32_t {
  none = CAGE_TAINT_NONE,
  no_schedule = CAGE_TAINT_NO_SCHEDULE,
  no_execute = CAGE_TAINT_NO_EXECUTE,
  inform = CAGE_TAINT_INFORM  // a taint with the effect None, which keeps no pod away
};

// A statement about a device, or about one cause: a thing that can be wrong with it, such as Ecc. It replaces the
// earlier statement about the same device and cause; the worst cause is the health of the device [R6].
struct Health {
  std::uint32_t state = CAGE_HEALTH_UNKNOWN;
  std::string reason{}, message{};  // a CamelCase token; for people
  Taint taint = Taint::none;        // a hint to the host
  std::chrono::seconds timeout{0};  // unknown after this silence; 0 = never
  std::string cause{};              // a CamelCase token; the empty string is a valid cause
  std::string taint_key{};          // "example.com/ecc"; empty = DRIVER/unhealthy
  std::string taint_value{};        // empty = the reason
  std::optional<double> value{};    // measured value, in the unit of the declared cause

  static Health ok() { return make(CAGE_HEALTH_OK, {}, {}, Taint::none); }
  static Health bad(std::string reason, std::string message, Taint taint = Taint::none) {
    return make(CAGE_HEALTH_BAD, std::move(reason), std::move(message), taint);
  }
  // The device works, but not as it should; it stays in use.
  static Health degraded(std::string reason, std::string message, Taint taint = Taint::none) {
    return make(CAGE_HEALTH_DEGRADED, std::move(reason), std::move(message), taint);
  }
  static Health unknown(std::string reason, std::string message) {
    return make(CAGE_HEALTH_UNKNOWN, std::move(reason), std::move(message), Taint::none);
  }
  // Nothing monitors the device; it stays in use.
  static Health unmonitored(std::string reason = {}, std::string message = {}) {
    return make(CAGE_HEALTH_UNMONITORED, std::move(reason), std::move(message), Taint::none);
  }
  // Returns this statement for the cause: host.health(id, Health::ok().about("Ecc"));
  Health about(std::string name) const {
    Health one = *this;
    one.cause = std::move(name);
    return one;
  }
  // Returns this statement with a measured value; its cause has a unit.
  Health measured(double figure) const {
    Health one = *this;
    one.value = figure;
    return one;
  }
  // Returns this statement with the taint.
  Health tainted(Taint effect, std::string key = {}, std::string label = {}) const {
    Health one = *this;
    one.taint = effect;
    one.taint_key = std::move(key);
    one.taint_value = std::move(label);
    return one;
  }

  // Valid while this and `device` live.
  cage_health raw(std::string_view device) const& {
    cage_health health{};
    health.struct_size = sizeof health;
    health.state = state;
    health.device_id = detail::raw(device);
    health.reason = detail::raw(reason);
    health.message = detail::raw(message);
    health.timeout_s = static_cast<std::uint32_t>(timeout.count());
    health.taint = static_cast<std::uint32_t>(taint);
    health.cause = detail::raw(cause);
    health.taint_key = detail::raw(taint_key);
    health.taint_value = detail::raw(taint_value);
    health.value = value.value_or(0);
    health.has_value = value ? 1 : 0;
    return health;
  }
  cage_health raw(std::string_view device) && = delete;

 private:
  static Health make(std::uint32_t state, std::string reason, std::string message, Taint taint) {
    Health made;
    made.state = state;
    made.reason = std::move(reason);
    made.message = std::move(message);
    made.taint = taint;
    return made;
  }
};

// The values that are bad, and from where on they are good again; in between the cause stays as it was.
struct Limit {
  std::uint32_t flag = 0;
  double limit = 0, clear = 0;

  static constexpr Limit above(double limit, double clear) { return {CAGE_CAUSE_ABOVE, limit, clear}; }
  static constexpr Limit below(double limit, double clear) { return {CAGE_CAUSE_BELOW, limit, clear}; }
};

// The severity of a cause that is not OK.
enum class Severity : std::uint32_t {
  as_stated = CAGE_HEALTH_UNKNOWN,
  bad = CAGE_HEALTH_BAD,
  degraded = CAGE_HEALTH_DEGRADED,
  unmonitored = CAGE_HEALTH_UNMONITORED,
  ignored = CAGE_HEALTH_OK
};

// When a cause is over.
enum class Recovery : std::uint32_t {
  report = CAGE_RECOVERY_REPORT,        // the module has stated so for recovery_time
  silence = CAGE_RECOVERY_SILENCE,      // nothing bad was stated for recovery_time
  stable = CAGE_RECOVERY_STABLE,        // its value has not changed for recovery_time
  by_operator = CAGE_RECOVERY_OPERATOR  // an operator says so
};

// A cause that the module states, and the rule by which the host judges it unless the operator writes another one
// [R23]. A module that declares some states no others. In C++20:
//
//   static constexpr cage::Cause declared_causes[] = {
//       {.name = "Temperature", .help = "the hottest sensor", .unit = "Cel", .limit = cage::Limit::above(95, 90),
//        .severity = cage::Severity::degraded, .hold_down = std::chrono::seconds(30)},
//       {.name = "Reset", .help = "the card fell off the bus", .event = true,
//        .recovery = cage::Recovery::silence, .recovery_time = std::chrono::hours(1)}};
struct Cause {
  std::string_view name{}, help{};  // as in Health::cause; one line: what can be wrong
  std::string_view unit{};          // UCUM code of the value, such as "Cel", "W", "1"; empty = no value
  bool event = false;               // stated when it happens; the module never states its end
  Limit limit{};                    // with a unit only; bad or degraded counts whatever state is stated
  Severity severity = Severity::as_stated;
  std::chrono::seconds hold_down{0};  // it counts after it has lasted this long
  Recovery recovery = Recovery::report;
  std::chrono::seconds recovery_time{0};  // not 0 with silence and stable
  std::uint32_t relapses = 0;             // after this many within the window, only an operator ends it; 0 = never
  std::chrono::seconds window{0};
  Taint taint = Taint::none;  // for statements without a taint
  std::string_view taint_key{}, taint_value{};

  constexpr cage_cause raw() const {
    const std::uint32_t flags = (event ? std::uint32_t{CAGE_CAUSE_EVENT} : 0) | limit.flag;
    return {sizeof(cage_cause),
            flags,
            detail::raw(name),
            detail::raw(help),
            detail::raw(unit),
            limit.limit,
            limit.clear,
            static_cast<std::uint32_t>(severity),
            static_cast<std::uint32_t>(hold_down.count()),
            static_cast<std::uint32_t>(recovery),
            static_cast<std::uint32_t>(recovery_time.count()),
            relapses,
            static_cast<std::uint32_t>(window.count()),
            static_cast<std::uint32_t>(taint),
            0,
            detail::raw(taint_key),
            detail::raw(taint_value)};
  }
};

}  // namespace cage

#endif  // CARDCAGE_SDK_HEALTH_HPP_
