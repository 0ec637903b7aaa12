// One call into a module: its deadline, its cancellation, and the module's explanation of a failure.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>

#include "cardcage/module.h"
#include "host/core/task.h"
#include "host/core/unique_fd.h"
#include "host/model/progress.h"

namespace cardcage {

constexpr std::size_t kMaxExplanation = 1024;
constexpr std::size_t kMaxProgressText = 256;

// Shared by the side that waits for the call and the thread that executes it.
class CallContext {
 public:
  // `what` is the name of the function, for messages. Instant::max() means no deadline.
  CallContext(std::string what, std::uint64_t number, Instant deadline, std::uint32_t attempt = 1);
  CallContext(const CallContext&) = delete;
  CallContext& operator=(const CallContext&) = delete;

  const cage_call* table() const { return &table_; }
  static CallContext& of(const cage_call* table) { return *static_cast<CallContext*>(table->host_data); }
  const std::string& what() const { return what_; }
  std::uint64_t number() const { return number_; }
  Instant deadline() const { return deadline_; }

  // Call it before the call runs. `told` is called on a thread of the module.
  void on_progress(std::function<void(Progress)> told) { told_ = std::move(told); }

  // [any-thread] Makes cancelled() true and the descriptor readable. Idempotent.
  void cancel();
  bool is_cancelled() const { return cancelled_.load(); }
  // [any-thread] The last explanation, printable; empty if there was none.
  std::string explanation() const;
  // Call it before the call enters the module again.
  void forget_explanation();

  // The life of a call: queued, then running and ended, or abandoned before it ran.
  bool begin();    // [module thread] false if it was abandoned
  void end();      // [module thread]
  bool abandon();  // [any-thread] false if it has begun
  bool is_abandoned() const { return phase_.load() == Phase::kAbandoned; }
  // True if no part of the call will run any more.
  bool has_ended() const { return phase_.load() >= Phase::kEnded; }

 private:
  void note_progress(std::uint32_t percent, cage_str text);

  enum class Phase { kQueued, kRunning, kEnded, kAbandoned };

  std::string what_, id_;
  std::uint64_t number_;
  Instant deadline_;
  UniqueFd cancel_fd_;
  std::atomic<bool> cancelled_{false};
  std::atomic<Phase> phase_{Phase::kQueued};
  mutable std::mutex mutex_;  // a module may explain from a thread of its own
  std::string explanation_;
  std::function<void(Progress)> told_;
  cage_call table_;
};

// Returns the status of a function of a host family, and explains a failure on the call, unless that is NULL.
template <class T>
cage_status explain_on(const cage_call* call, const Result<T>& outcome) {
  if (outcome) return CAGE_OK;
  const std::string& why = outcome.error().message;
  if (call != nullptr) call->explain(call, {why.data(), why.size()});
  return static_cast<cage_status>(outcome.error().code);
}

}  // namespace cardcage
