// Unary RPCs between gRPC's threads and the core.
#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>

#include <atomic>
#include <memory>
#include <set>
#include <utility>

#include "host/core/wakeup.h"
#include "host/rpc/status.h"

namespace cardcage {

// [any-thread]
Error shutting_down();
grpc::ServerUnaryReactor* finish_at_once(grpc::CallbackServerContext& context, const grpc::Status& status);
// Returns the time for a response: `limit`, or less if the caller would give up before that.
Duration time_to_respond(const grpc::CallbackServerContext& context, Duration limit);

// [core] A received RPC. Created by any thread, used on the core only.
class OpenCall {
 public:
  virtual ~OpenCall() = default;
  // Responds with `reason`, unless the call has its response.
  virtual void abort(Error reason) = 0;
  // Returns true once the caller has a response or gave up.
  virtual bool ended() const = 0;
};

// [core] The RPCs of one service that have no response yet. They have no timeout here: the code that does the work
// knows its dependencies, and responds by the deadline. Outlives its calls: drain() or GrpcServer::stop() waits for
// them.
class UnaryCalls {
 public:
  // A call either responds as soon as its caller gives up, or waits for its work even then.
  enum class WhenCancelled : std::uint8_t { kAbort, kWait };
  explicit UnaryCalls(asio::io_context& core, WhenCancelled when_cancelled = WhenCancelled::kAbort)
      : core_(core), when_cancelled_(when_cancelled), idle_(core) {}

  // [any-thread] Calls `work` on the core with the OpenCall, and responds with the result of the returned task. The
  // task continues after an abort, so it refers only to objects that outlive every such task. `response` lives until
  // the call ends; the request may be gone when `work` is called.
  template <class Response, class Work>
  grpc::ServerUnaryReactor* respond(Response& response, Work work);

  // [any-thread] New calls are refused.
  bool draining() const { return draining_; }
  std::size_t size() const { return calls_.size(); }
  // Refuses new calls, waits for the open ones and aborts the remaining ones at `deadline`.
  Task<void> drain(Clock& clock, Instant deadline);

 private:
  template <class Response>
  class Reactor;
  template <class Response>
  static Task<void> finish(std::shared_ptr<Reactor<Response>> call, Task<Result<Response>> work) {
    Result<Response> result = co_await std::move(work);
    call->finish(std::move(result));
  }
  void remove(const std::shared_ptr<OpenCall>& call);

  asio::io_context& core_;
  const WhenCancelled when_cancelled_;
  std::atomic<bool> draining_ = false;
  std::set<std::shared_ptr<OpenCall>> calls_;
  Wakeup idle_;
};

// gRPC's side of a call. Its reactions come on gRPC's threads and only post. It keeps itself alive until OnDone, and
// its work keeps it for longer; then it no longer touches gRPC or the service.
template <class Response>
class UnaryCalls::Reactor final : public OpenCall, public grpc::ServerUnaryReactor {
 public:
  Reactor(UnaryCalls& calls, Response& response) : calls_(calls), response_(response) {}

  void keep_until_done(std::shared_ptr<Reactor> self) { self_ = std::move(self); }
  // [core] Later results are ignored.
  void finish(Result<Response> result) {
    if (std::exchange(ended_, true)) return;
    calls_.remove(self_);
    if (result) response_ = std::move(*result);
    Finish(result ? grpc::Status::OK : to_grpc(result.error()));
  }
  void abort(Error reason) override { finish(std::unexpected(std::move(reason))); }
  bool ended() const override { return ended_; }

 private:
  void OnCancel() override {
    if (calls_.when_cancelled_ == WhenCancelled::kWait) return;
    asio::post(calls_.core_, [self = self_] { self->abort({Code::kCancelled, "the caller gave up"}); });
  }
  void OnDone() override { self_.reset(); }

  UnaryCalls& calls_;
  Response& response_;
  std::shared_ptr<Reactor> self_;
  bool ended_ = false;
};

template <class Response, class Work>
grpc::ServerUnaryReactor* UnaryCalls::respond(Response& response, Work work) {
  const auto call = std::make_shared<Reactor<Response>>(*this, response);
  call->keep_until_done(call);
  asio::post(core_, [this, call, work = std::move(work)]() mutable {
    calls_.insert(call);
    if (draining_) return call->abort(shutting_down());
    spawn(core_, finish<Response>(call, work(std::as_const(*call))));
  });
  return call.get();
}

}  // namespace cardcage
