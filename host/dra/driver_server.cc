#include "host/dra/driver_server.h"

#include <fmt/core.h>

#include <algorithm>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <cstdlib>

#include "host/core/log.h"

namespace cardcage {
namespace {

using std::chrono::milliseconds, std::chrono::seconds;

// The modes the kubelet itself gives these folders.
constexpr mode_t kRegistryMode = 0755, kPluginMode = 0750;
constexpr seconds kLookAnyway{30};    // inotify does not see a new mount over a folder
constexpr seconds kLookUnwatched{1};  // without inotify, or after a failure
constexpr seconds kSilence{30};
constexpr seconds kFirstRetry{10}, kMaxRetry{120};
constexpr milliseconds kCloseReserve{500}, kLeastGrace{100};

api::registration::PluginInfo plugin_info(const std::string& driver, const std::filesystem::path& endpoint) {
  api::registration::PluginInfo info;
  info.set_type("DRAPlugin");
  info.set_name(driver);
  info.set_endpoint(endpoint.native());
  for (const char* version :
       {"v1.DRAPlugin", "v1beta1.DRAPlugin", "v1.DRAResourceHealth", "v1alpha1.DRAResourceHealth"})
    info.add_supported_versions(version);
  return info;
}

}  // namespace

Result<std::unique_ptr<DriverServer>> DriverServer::start(asio::io_context& core, Clock& clock, ClaimService& claims,
                                                          HealthBoard& health, DriverServerOptions options) {
  auto sockets = driver_sockets(options.kubelet_root, options.driver, options.instance);
  if (!sockets) return within(sockets.error(), "driver '{}'", options.driver);
  std::unique_ptr<DriverServer> server(
      new DriverServer(core, clock, claims, health, std::move(options), std::move(*sockets)));
  if (auto opened = server->open_missing(); !opened) {
    server->stopped_ = true;
    return within(opened.error(), "driver '{}'", server->options_.driver);
  }
  spawn(core, server->run());
  log(LogLevel::kInfo, "serving the driver",
      {{"driver", server->options_.driver}, {"socket", server->sockets_.service.native()}});
  return server;
}

DriverServer::DriverServer(asio::io_context& core, Clock& clock, ClaimService& claims, HealthBoard& health,
                           DriverServerOptions options, DriverSockets sockets)
    : core_(core),
      clock_(clock),
      options_(std::move(options)),
      sockets_(std::move(sockets)),
      dra_(core, clock, claims, options_.limits),
      health_(core, clock, health, options_.health),
      registration_(core, clock, plugin_info(options_.driver, sockets_.service), [this] { registration_changed(); }),
      server_(std::array{dra_.services()[0], dra_.services()[1], health_.services()[0], health_.services()[1],
                         registration_.service()}),
      watch_(core, [this] { wake_.wake(); }),
      wake_(core),
      ended_(core) {}

DriverServer::~DriverServer() {
  if (stopped_) return;
  fmt::print(stderr, "cardcage: the server of driver '{}' was destroyed before it was stopped\n", options_.driver);
  std::abort();
}

Status DriverServer::open_missing() {
  const auto adopt = [this](UniqueFd connection) { server_.adopt(std::move(connection)); };
  if (!service_socket_ || !service_socket_->present()) {
    service_socket_.reset();
    auto opened = SocketListener::open(core_, sockets_.service, kPluginMode, adopt);
    if (!opened) return std::unexpected(opened.error());
    service_socket_ = std::move(*opened);
  }
  if (!registration_socket_ || !registration_socket_->present()) {
    registration_socket_.reset();
    auto opened = SocketListener::open(core_, sockets_.registration, kRegistryMode, adopt);
    if (!opened) return std::unexpected(opened.error());
    registration_socket_ = std::move(*opened);
    asked_since_ = clock_.now();
  }
  return {};
}

void DriverServer::registration_changed() {
  const RegistrationState state = registration_.view().state;
  if (state == RegistrationState::kRegistered) {
    retry_.reset();
    refusals_ = 0;
  } else if (state == RegistrationState::kRefused && !retry_) {
    retry_ = clock_.now() + std::min<Duration>(kFirstRetry * (1 << std::min(refusals_++, 4)), kMaxRetry);
    wake_.wake();
  }
}

void DriverServer::note_silence() {
  if (silence_noted_ || registration_.view().state != RegistrationState::kWaiting) return;
  if (clock_.now() - asked_since_ < kSilence) return;
  silence_noted_ = true;
  log(LogLevel::kWarn, "no kubelet has asked for the driver: is node.kubelet_root the kubelet's --root-dir?",
      {{"driver", options_.driver}, {"socket", sockets_.registration.native()}});
}

Task<void> DriverServer::keep_sockets() {
  while (!stopping_) {
    // Watch first: what disappears between the look and the wait is an event then.
    const bool watched = watch_.watch(sockets_.registration.parent_path()).has_value() &&
                         watch_.watch(sockets_.service.parent_path()).has_value();
    if (retry_ && *retry_ <= clock_.now()) {
      retry_.reset();
      registration_socket_.reset();  // to make it again is how to ask again
    }
    const Status opened = open_missing();
    if (!opened)
      log_limited(LogLevel::kError, "socket " + options_.driver, "cannot serve the driver",
                  {{"driver", options_.driver}, {"error", opened.error().message}});
    note_silence();
    Instant next = clock_.now() + (watched && opened ? kLookAnyway : kLookUnwatched);
    if (retry_) next = std::min(next, *retry_);
    co_await wake_.wait_until(clock_, next);
  }
}

Task<void> DriverServer::run() {
  using namespace asio::experimental::awaitable_operators;
  co_await (keep_sockets() && health_.run());
  ended_.set(true);
}

Task<void> DriverServer::stop(Instant deadline) {
  stopping_ = true;
  wake_.wake();
  registration_socket_.reset();
  service_socket_.reset();
  const Duration budget = std::max(deadline - clock_.now(), Duration::zero());
  co_await dra_.drain(deadline - std::min<Duration>(kCloseReserve, budget / 2));
  health_.close();
  co_await server_.stop(core_, std::max<Duration>(deadline - clock_.now(), kLeastGrace));
  co_await ended_.wait();
  stopped_ = true;
}

DriverStatus DriverServer::status() const {
  return {options_.driver, sockets_, registration_.view(), dra_.open_calls(), health_.streams()};
}

}  // namespace cardcage
