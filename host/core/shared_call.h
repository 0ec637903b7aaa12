// Lets callers that want the same thing at about the same time share one call for it.
#pragma once

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "host/core/cancellation.h"
#include "host/core/clock.h"

namespace cardcage {

// [core] Must outlive its calls.
template <class T>
class SharedCall {
 public:
  using Call = std::function<Task<Result<T>>()>;

  // Messages of errors begin with `what`. A result without an error is used again for `keep` after the call.
  SharedCall(asio::io_context& core, Clock& clock, std::string what, Duration keep)
      : core_(core), clock_(clock), what_(std::move(what)), keep_(keep) {}

  // Returns the result of `call`, or that of another caller's, for which it waits until `deadline`. If the other caller
  // is cancelled, `call` is made.
  Task<Result<T>> get(Call call, Instant deadline = Instant::max()) {
    using namespace asio::experimental::awaitable_operators;
    while (const std::shared_ptr<Run> run = run_) {
      if (run->over) break;
      if (clock_.now() >= deadline)
        co_return fail(Code::kUnavailable, "{}: another caller's request for the same takes too long", what_);
      co_await (end_of(run) || clock_.sleep_until(deadline));
      if (is_cancelled(co_await asio::this_coro::cancellation_state))
        co_return fail(Code::kCancelled, "the call was cancelled");
      if (run->result) co_return *run->result;
    }
    if (kept_ && clock_.now() < kept_until_) co_return *kept_;
    kept_.reset();
    const End end{run_ = std::make_shared<Run>(core_)};
    auto result = co_await call();
    if (result || result.error().code != Code::kCancelled) end.run->result = result;
    if (result) {
      kept_ = *result;
      kept_until_ = clock_.now() + keep_;
    }
    co_return result;
  }

 private:
  struct Run {
    explicit Run(asio::io_context& core) : ended(core, Instant::max()) {}
    asio::steady_timer ended;
    bool over = false;
    std::optional<Result<T>> result;
  };
  static Task<void> end_of(std::shared_ptr<Run> run) {
    boost::system::error_code ignored;
    if (!run->over) co_await run->ended.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  }
  // Ends the run however its coroutine ends, perhaps after the SharedCall.
  struct End {
    explicit End(std::shared_ptr<Run> of) : run(std::move(of)) {}
    End(const End&) = delete;
    End& operator=(const End&) = delete;
    ~End() {
      run->over = true;
      run->ended.cancel();
    }
    const std::shared_ptr<Run> run;
  };

  asio::io_context& core_;
  Clock& clock_;
  const std::string what_;
  const Duration keep_;
  std::shared_ptr<Run> run_;  // the last one
  std::optional<T> kept_;
  Instant kept_until_ = Instant::min();
};

}  // namespace cardcage
