// Server streams of a latest value. At most one write is in progress, and a newer value replaces the waiting one: a
// slow reader costs one value, never a queue.
#pragma once

#include <grpcpp/support/server_callback.h>

#include <functional>
#include <memory>
#include <set>
#include <utility>

#include "host/core/task.h"
#include "host/rpc/unary_call.h"

namespace cardcage {

// [core] One open stream.
template <class T>
class LatestStream {
 public:
  using Value = std::shared_ptr<const T>;
  virtual ~LatestStream() = default;

  // Sends the value as soon as no write is in progress, even if it was the last one sent.
  void offer(Value value) {
    waiting_ = std::move(value);
    advance();
  }
  void finish(const grpc::Status& status) {
    if (!std::exchange(ended_, true)) end(status);
  }
  void written() {
    writing_ = false;
    advance();
  }

 protected:
  // Starts one write. A value may take several writes: this one starts at position `begin`, the next one at the
  // returned position; 0 means that this was the last.
  virtual std::size_t send(const T& value, std::size_t begin) = 0;
  virtual void end(const grpc::Status& status) = 0;

 private:
  void advance() {
    if (writing_ || ended_) return;
    if (next_ == 0) {
      if (!waiting_) return;
      sending_ = std::exchange(waiting_, nullptr);
    }
    writing_ = true;
    next_ = send(*sending_, next_);
  }

  Value waiting_, sending_;
  std::size_t next_ = 0;  // position in sending_
  bool writing_ = false, ended_ = false;
};

// [core] The open streams of a service.
template <class Stream>
class OpenStreams {
 public:
  using Value = typename Stream::Value;
  // `opened` gives a new stream its first value. `closed` is called after the caller has ended a stream.
  OpenStreams(
      asio::io_context& core, std::function<void(Stream&)> opened, std::function<void()> closed = [] {})
      : core_(core), opened_(std::move(opened)), closed_(std::move(closed)) {}

  asio::io_context& core() const { return core_; }
  std::size_t size() const { return streams_.size(); }
  bool empty() const { return streams_.empty(); }
  void attach(std::shared_ptr<Stream> stream) {
    if (shut_) return stream->finish(to_grpc(shutting_down()));
    streams_.insert(stream);
    opened_(*stream);
  }
  void drop(const std::shared_ptr<Stream>& stream) {
    stream->finish(grpc::Status::CANCELLED);
    if (streams_.erase(stream) != 0) closed_();
  }
  void offer(const Value& value) {
    for (const auto& stream : streams_) stream->offer(value);
  }
  // Ends the open streams.
  void end(const grpc::Status& status) {
    for (const auto& stream : std::exchange(streams_, {})) stream->finish(status);
  }
  // Ends the open streams and refuses new ones.
  void shut() {
    shut_ = true;
    end(to_grpc(shutting_down()));
  }
  bool is_shut() const { return shut_; }

 private:
  asio::io_context& core_;
  const std::function<void(Stream&)> opened_;
  const std::function<void()> closed_;
  std::set<std::shared_ptr<Stream>> streams_;
  bool shut_ = false;
};

// gRPC's side of a stream. Its reactions come on gRPC's threads and only post. It keeps itself alive until OnDone.
template <class Stream, class Response>
class StreamReactor : public Stream, public grpc::ServerWriteReactor<Response> {
 public:
  explicit StreamReactor(OpenStreams<Stream>& streams) : streams_(streams) {}

  // [any-thread]
  template <class Reactor, class... Args>
  static grpc::ServerWriteReactor<Response>* open(Args&&... args) {
    const auto reactor = std::make_shared<Reactor>(std::forward<Args>(args)...);
    reactor->self_ = reactor;
    asio::post(reactor->streams_.core(), [reactor] { reactor->streams_.attach(reactor); });
    return reactor.get();
  }
  void OnWriteDone(bool ok) override {
    asio::post(streams_.core(), [self = self_, ok] { ok ? self->written() : self->streams_.drop(self); });
  }
  void OnCancel() override {
    asio::post(streams_.core(), [self = self_] { self->streams_.drop(self); });
  }
  void OnDone() override { self_.reset(); }

 private:
  void end(const grpc::Status& status) final { this->Finish(status); }

  OpenStreams<Stream>& streams_;
  std::shared_ptr<StreamReactor> self_;
};

}  // namespace cardcage
