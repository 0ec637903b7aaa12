// Unary calls to a peer, awaited on the core.
#pragma once

#include <grpcpp/client_context.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <set>
#include <utility>

#include "host/core/task.h"
#include "host/rpc/status.h"

namespace cardcage {

// [core] Holds the calls in progress. The destructor cancels them and blocks until gRPC has ended them; their results
// are posted to the core.
class ClientCalls {
 public:
  explicit ClientCalls(asio::io_context& core) : core_(core) {}
  ~ClientCalls() {
    std::unique_lock lock(mutex_);
    for (grpc::ClientContext* context : contexts_) context->TryCancel();
    all_ended_.wait(lock, [this] { return under_way_ == 0; });
  }
  ClientCalls(const ClientCalls&) = delete;
  ClientCalls& operator=(const ClientCalls&) = delete;

  // Begins the call at once and keeps `set` until it ends. `begin(set, context, request, response, ended)` makes the
  // call on a stub of the set and passes `ended`, which gets the status.
  template <class Request, class Response, class Set, class Begin>
  OneShot<Result<Response>> begin(std::shared_ptr<const Set> set, Request request, std::chrono::seconds limit,
                                  const Begin& begin) {
    struct Call {
      std::shared_ptr<const Set> set;
      Request request;
      Response response;
      OneShot<Result<Response>> done;
      grpc::ClientContext context;  // last, so that it is destroyed first
    };
    const OneShot<Result<Response>> done(core_);
    auto* const call = new Call{std::move(set), std::move(request), Response(), done, {}};
    call->context.set_deadline(std::chrono::system_clock::now() + limit);
    add(&call->context);
    begin(*call->set, &call->context, &call->request, &call->response, [this, call](const grpc::Status& status) {
      {
        std::unique_ptr<Call> ended(call);
        forget(&ended->context);
        Result<Response> result = std::move(ended->response);
        if (const Status end = to_status(status); !end) result = std::unexpected(end.error());
        const OneShot<Result<Response>> waiting = ended->done;
        auto set_in_use = std::move(ended->set);
        ended.reset();
        // A channel must not be destroyed on a thread of gRPC: the last one waits for these threads.
        asio::post(core_, [last = std::move(set_in_use)] {});
        waiting.set(std::move(result));
      }
      end_one();
    });
    return done;
  }

 private:
  void add(grpc::ClientContext* context) {
    const std::lock_guard lock(mutex_);
    contexts_.insert(context);
    ++under_way_;
  }
  void forget(grpc::ClientContext* context) {
    const std::lock_guard lock(mutex_);
    contexts_.erase(context);
  }
  void end_one() {
    const std::lock_guard lock(mutex_);
    if (--under_way_ == 0) all_ended_.notify_all();
  }

  asio::io_context& core_;
  std::mutex mutex_;  // guards the members below; calls end on threads of gRPC
  std::condition_variable all_ended_;
  std::set<grpc::ClientContext*> contexts_;
  std::size_t under_way_ = 0;
};

}  // namespace cardcage
