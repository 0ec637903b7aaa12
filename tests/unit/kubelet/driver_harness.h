// A DriverServer with real sockets on a live core, its claims mocked and its clock stepped by hand.
#pragma once

#include <gmock/gmock.h>

#include <fstream>
#include <future>
#include <string>

#include "host/kubelet/clients.h"
#include "host/kubelet/driver_server.h"
#include "tests/fakes/eventually.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/live_core.h"
#include "tests/fakes/mock_claim_service.h"
#include "tests/fakes/scratch_folder.h"

namespace cardcage {

using Devices = std::vector<PreparedDevice>;
constexpr const char* kDriver = "gpu.example.com";

// The server's side of connections to this socket, as the kernel counts them.
inline long connections_to(const std::filesystem::path& socket) {
  std::ifstream table("/proc/net/unix");
  long count = 0;
  for (std::string line; std::getline(table, line);) count += line.ends_with(" " + socket.native()) ? 1 : 0;
  return count - 1;  // the listening socket
}

// Real time for what gRPC waits for, stepped time for what the host waits for.
class SteppedRealClock final : public Clock {
 public:
  explicit SteppedRealClock(LiveCore& live) : live_(live) {}
  Instant now() const override { return std::chrono::steady_clock::now() + skipped_.load(); }
  std::chrono::system_clock::time_point wall() const override { return std::chrono::system_clock::now(); }
  Task<void> sleep_until(Instant wake) override {
    auto timer = std::make_shared<asio::steady_timer>(live_.context());
    sleepers_.push_back(timer);
    while (now() < wake) {
      timer->expires_at(wake - skipped_.load());
      boost::system::error_code failed;
      const auto skipped = skipped_.load();
      co_await timer->async_wait(asio::redirect_error(asio::use_awaitable, failed));
      // Cancelled from outside, and not by a step of time?
      if (failed && skipped == skipped_.load()) break;
    }
  }
  // From outside the core.
  void advance(Duration duration) {
    live_.call([&] {
      skipped_ = skipped_.load() + duration;
      std::erase_if(sleepers_, [](const auto& sleeper) { return sleeper.expired(); });
      for (const auto& sleeper : sleepers_)
        if (const auto timer = sleeper.lock()) timer->cancel();
    });
  }

 private:
  LiveCore& live_;
  std::atomic<Duration> skipped_{Duration::zero()};
  std::vector<std::weak_ptr<asio::steady_timer>> sleepers_;
};

class DriverHarness : public ::testing::Test {
 protected:
  void TearDown() override { stop(); }

  Result<std::unique_ptr<DriverServer>> make(DriverServerOptions options) {
    return live.call([&] { return DriverServer::start(live.context(), clock, claims, health, std::move(options)); });
  }
  DriverServerOptions options(const std::string& driver = kDriver) const {
    return {.driver = driver, .kubelet_root = root.path(), .instance = "", .limits = {}, .health = {}};
  }
  void start(DriverServerOptions wanted) {
    auto made = make(std::move(wanted));
    ASSERT_TRUE(made) << made.error().message;
    server = std::move(*made);
  }
  void start() { start(options()); }
  void stop(std::chrono::milliseconds budget = std::chrono::seconds(2)) {
    if (server) stop_and_destroy(server, budget);
  }
  void stop_and_destroy(std::unique_ptr<DriverServer>& which,
                        std::chrono::milliseconds budget = std::chrono::seconds(2)) {
    live.run([](DriverServer& s, Instant deadline) -> Task<bool> {
      co_await s.stop(deadline);
      co_return true;
    }(*which, clock.now() + budget));
    live.call([&] { which.reset(); });
  }
  DriverStatus status() {
    return live.call([&] { return server->status(); });
  }
  std::filesystem::path service_socket() const { return root / "plugins/gpu.example.com/dra.sock"; }
  std::filesystem::path registration_socket() const { return root / "plugins_registry/gpu.example.com-reg.sock"; }
  // Not later than the test's own limit.
  static std::unique_ptr<grpc::ClientContext> context(std::chrono::milliseconds limit = std::chrono::seconds(5)) {
    auto made = std::make_unique<grpc::ClientContext>();
    made->set_deadline(std::chrono::system_clock::now() + limit);
    return made;
  }

  LiveCore live;
  ScratchFolder root;
  SteppedRealClock clock{live};
  ::testing::NiceMock<MockClaimService> claims;
  HealthBoard health;
  std::unique_ptr<DriverServer> server;
};

}  // namespace cardcage
