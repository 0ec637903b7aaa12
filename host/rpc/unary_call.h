// A unary RPC on its way between gRPC's threads and the core.
#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "host/core/wakeup.h"
#include "host/rpc/status.h"

namespace cardcage {

// [any-thread]
Error going_away();
grpc::ServerUnaryReactor* at_once(grpc::CallbackServerContext& context, const grpc::Status& status);
// How long a call may take so that the answer is there before the caller gives up.
Duration time_to_answer(const grpc::CallbackServerContext& context, Duration limit);

// [core] An RPC that is being answered. Made by any thread, used on the core only.
class OpenCall {
 public:
  OpenCall(asio::io_context& core, Clock& clock, Duration limit)
      : core_(core), clock_(clock), limit_(limit), wake_(core) {}

  // The limit counts from here.
  void begin() { deadline_ = clock_.now() + limit_; }
  Instant deadline() const { return deadline_; }
  // Nobody waits for the answer any more, or must not. The first reason counts.
  void abort(Error reason);
  bool over() const { return aborted_ || clock_.now() >= deadline_; }
  // After over(): the abort's reason or that the time is over.
  Error why_over() const;

  // What `work` returns, or nothing as soon as the call is over: `work` goes on by itself then.
  template <class T>
  static Task<std::optional<T>> result_of(std::shared_ptr<OpenCall> call, Task<T> work) {
    const auto slot = std::make_shared<std::optional<T>>();
    spawn(call->core_, carry(call, std::move(work), slot));
    while (!*slot && !call->over()) co_await call->wake_.wait_until(call->clock_, call->deadline_);
    co_return std::move(*slot);
  }

 private:
  template <class T>
  static Task<void> carry(std::shared_ptr<OpenCall> call, Task<T> work, std::shared_ptr<std::optional<T>> slot) {
    slot->emplace(co_await std::move(work));
    call->wake_.wake();
  }

  asio::io_context& core_;
  Clock& clock_;
  const Duration limit_;
  Instant deadline_ = Instant::max();
  std::optional<Error> aborted_;
  Wakeup wake_;
};

// [core] The calls of a service that are being answered; abort() ends one.
template <class Call>
class OpenCalls {
 public:
  OpenCalls(asio::io_context& core, Clock& clock) : clock_(clock), idle_(core) {}

  // New calls are to be refused. [any-thread]
  bool draining() const { return draining_; }
  std::size_t size() const { return calls_.size(); }
  // One that was on its way here when the drain began is aborted.
  void add(const std::shared_ptr<Call>& call) {
    calls_.insert(call);
    if (draining_) call->abort(going_away());
  }
  void remove(const std::shared_ptr<Call>& call) {
    calls_.erase(call);
    if (calls_.empty()) idle_.wake();
  }
  // Waits for the calls, aborts at `deadline` those that are left and returns when there is none.
  Task<void> drain(Instant deadline) {
    draining_ = true;
    while (!calls_.empty() && clock_.now() < deadline) co_await idle_.wait_until(clock_, deadline);
    for (const auto& call : calls_) call->abort(going_away());
    while (!calls_.empty()) co_await idle_.wait();
  }

 private:
  Clock& clock_;
  std::atomic<bool> draining_ = false;
  std::set<std::shared_ptr<Call>> calls_;
  Wakeup idle_;
};

// gRPC's side of a call. Reactions come on its threads and only post; the core answers, once.
template <class Response>
class UnaryExchange final : public grpc::ServerUnaryReactor {
 public:
  UnaryExchange(asio::io_context& core, std::shared_ptr<OpenCall> call, Response& response)
      : core_(core), call_(std::move(call)), response_(response) {}

  // [core] The object may be gone afterwards.
  void answer(Result<Response> result) {
    if (result) response_ = std::move(*result);
    Finish(result ? grpc::Status::OK : to_grpc(result.error()));
  }
  void OnCancel() override {
    asio::post(core_, [call = call_] { call->abort({Code::kCancelled, "the caller gave up"}); });
  }
  void OnDone() override { delete this; }

 private:
  asio::io_context& core_;
  const std::shared_ptr<OpenCall> call_;
  Response& response_;  // lives until OnDone
};

}  // namespace cardcage
