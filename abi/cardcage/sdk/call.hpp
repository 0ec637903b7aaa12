// SPDX-License-Identifier: Apache-2.0
// The call and the host, which every function gets. Included by sdk.hpp.
#ifndef CARDCAGE_SDK_CALL_HPP_
#define CARDCAGE_SDK_CALL_HPP_

#include <poll.h>
#include <cardcage/sdk/text.hpp>

#include <algorithm>
#include <chrono>
#include <optional>
#include <sstream>

namespace cage {

class Call {
 public:
  using Clock = std::chrono::steady_clock;  // CLOCK_MONOTONIC

  explicit Call(const cage_call* call) : call_(call) {}

  std::string_view id() const { return detail::view(call_->id); }
  std::uint32_t attempt() const { return call_->attempt; }
  bool cancelled() const { return call_->cancelled(call_) != 0; }
  int cancel_fd() const { return call_->cancel_fd; }  // poll it beside your own descriptors
  std::optional<Clock::time_point> deadline() const {
    if (call_->deadline_ns == 0) return std::nullopt;
    return Clock::time_point(std::chrono::nanoseconds(static_cast<std::int64_t>(call_->deadline_ns)));
  }

  // Throws if nobody waits for the result any more. Call it between the steps of long work.
  void checkpoint() const {
    if (cancelled()) throw Error(CAGE_CANCELLED, "cancelled by the host");
    if (deadline() && Clock::now() >= *deadline()) throw Error(CAGE_DEADLINE_EXCEEDED, "not done at the deadline");
  }
  // Sleeps, and throws at the deadline or when the call is cancelled.
  void sleep(std::chrono::nanoseconds time) const {
    const Clock::time_point wanted = Clock::now() + std::chrono::duration_cast<Clock::duration>(time);
    const Clock::time_point end = deadline() ? std::min(wanted, *deadline()) : wanted;
    for (;;) {
      checkpoint();
      const auto left = end - Clock::now();
      if (left <= left.zero()) return;
      const auto rounded_up = std::chrono::duration_cast<std::chrono::milliseconds>(left).count() + 1;
      pollfd cancel{call_->cancel_fd, POLLIN, 0};
      (void)::poll(&cancel, 1, static_cast<int>(std::min<std::int64_t>(rounded_up, 60000)));
    }
  }

 private:
  const cage_call* call_;
};

enum class Taint : std::uint32_t {
  none = CAGE_TAINT_NONE,
  no_schedule = CAGE_TAINT_NO_SCHEDULE,
  no_execute = CAGE_TAINT_NO_EXECUTE
};

// The complete health of a device. `reason` is a CamelCase token, `message` is for people.
struct Health {
  std::uint32_t state = CAGE_HEALTH_UNKNOWN;
  std::string reason, message;
  Taint taint = Taint::none;        // a hint to the host
  std::chrono::seconds timeout{0};  // unknown after this silence; 0 = never

  static Health ok() { return {CAGE_HEALTH_OK, {}, {}, Taint::none, {}}; }
  static Health bad(std::string reason, std::string message, Taint taint = Taint::none) {
    return {CAGE_HEALTH_BAD, std::move(reason), std::move(message), taint, {}};
  }
  static Health unknown(std::string reason, std::string message) {
    return {CAGE_HEALTH_UNKNOWN, std::move(reason), std::move(message), Taint::none, {}};
  }

  // Valid while this and `device` live.
  cage_health raw(std::string_view device) const& {
    return {sizeof(cage_health),
            state,
            detail::raw(device),
            detail::raw(reason),
            detail::raw(message),
            static_cast<std::uint32_t>(timeout.count()),
            static_cast<std::uint32_t>(taint)};
  }
  cage_health raw(std::string_view device) && = delete;
};

// One line of the host's log, written when it goes out of scope: host.info() << "found " << count;
class LogLine {
 public:
  LogLine(const cage_host* host, std::uint32_t level) : host_(host), level_(level) {
    if (host_->log_enabled(host_, level_) != 0) text_.emplace();
  }
  LogLine(LogLine&&) = delete;
  ~LogLine() {
    if (!text_) return;
    try {
      const std::string line = text_->str();
      host_->log(host_, level_, detail::raw(line));
    } catch (...) {  // out of memory: drop the line
    }
  }
  template <class T>
  LogLine& operator<<(const T& value) {
    if (text_) *text_ << value;
    return *this;
  }

 private:
  const cage_host* host_;
  std::uint32_t level_;
  std::optional<std::ostringstream> text_;
};

// The host's services. Any thread may call them; they never block.
class Host {
 public:
  explicit Host(const cage_host* host) : host_(host) {}

  std::string_view version() const { return detail::view(host_->version); }
  LogLine debug() const { return LogLine(host_, CAGE_LOG_DEBUG); }
  LogLine info() const { return LogLine(host_, CAGE_LOG_INFO); }
  LogLine warn() const { return LogLine(host_, CAGE_LOG_WARN); }
  LogLine error() const { return LogLine(host_, CAGE_LOG_ERROR); }

  // Asks for discover(), after devices came or went.
  void rescan() const { host_->rescan(host_); }
  void health(std::string_view device, const Health& health) const {
    const cage_health raw = health.raw(device);
    host_->health(host_, &raw);
  }
  const cage_host* raw() const { return host_; }

 private:
  const cage_host* host_;
};

}  // namespace cage

#endif  // CARDCAGE_SDK_CALL_HPP_
