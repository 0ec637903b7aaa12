// The common part of the harnesses: a server with real sockets on a live core, with a clock that is stepped by hand.
#pragma once

#include <gmock/gmock.h>
#include <grpcpp/client_context.h>

#include <list>
#include <memory>

#include "host/core/clock.h"
#include "sim/scratch_folder.h"
#include "tests/fakes/eventually.h"
#include "tests/fakes/live_core.h"

namespace cardcage {

// Real time, plus the steps that a test adds for the host. gRPC sees real time only.
class SteppedRealClock final : public Clock {
 public:
  explicit SteppedRealClock(LiveCore& live) : live_(live) {}
  Instant now() const override { return std::chrono::steady_clock::now() + skipped_.load(); }
  std::chrono::system_clock::time_point wall() const override { return std::chrono::system_clock::now(); }
  Task<void> wait(asio::steady_timer& timer, Instant wake) override {
    struct Sleeper {
      std::shared_ptr<Sleepers> all;
      Sleepers::iterator entry;
      ~Sleeper() { all->erase(entry); }
    };
    const Sleeper sleeper{sleepers_, sleepers_->insert(sleepers_->end(), &timer)};
    while (now() < wake) {
      timer.expires_at(wake == Instant::max() ? wake : wake - skipped_.load());
      boost::system::error_code failed;
      const auto skipped = skipped_.load();
      co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, failed));
      // Whether the wait was cancelled from outside, and not by a step of time.
      if (failed && skipped == skipped_.load()) break;
    }
  }
  // Called from outside the core.
  void advance(Duration duration) {
    live_.call([&] {
      skipped_ = skipped_.load() + duration;
      for (asio::steady_timer* const sleeper : *sleepers_) sleeper->cancel();
    });
  }

 private:
  LiveCore& live_;
  std::atomic<Duration> skipped_{Duration::zero()};
  using Sleepers = std::list<asio::steady_timer*>;
  const std::shared_ptr<Sleepers> sleepers_ =
      std::make_shared<Sleepers>();  // coroutines on the core may outlive the clock
};

template <class Server>
class ServerHarness : public ::testing::Test {
 protected:
  void TearDown() override { stop(); }

  void take(Result<std::unique_ptr<Server>> made) {
    ASSERT_TRUE(made) << made.error().message;
    server = std::move(*made);
  }
  void stop(std::chrono::milliseconds budget = std::chrono::seconds(2)) {
    if (server) stop_and_destroy(server, budget);
  }
  void stop_and_destroy(std::unique_ptr<Server>& which, std::chrono::milliseconds budget = std::chrono::seconds(2)) {
    live.run([](Server& s, Instant deadline) -> Task<bool> {
      co_await s.stop(deadline);
      co_return true;
    }(*which, clock.now() + budget));
    live.call([&] { which.reset(); });
  }
  auto status() {
    return live.call([&] { return server->status(); });
  }
  // A context whose deadline ends the call before the test's own limit.
  static std::unique_ptr<grpc::ClientContext> context(std::chrono::milliseconds limit = std::chrono::seconds(20)) {
    auto made = std::make_unique<grpc::ClientContext>();
    made->set_deadline(std::chrono::system_clock::now() + limit);
    return made;
  }

  LiveCore live;
  ScratchFolder root;
  SteppedRealClock clock{live};
  std::unique_ptr<Server> server;
};

}  // namespace cardcage
