#include "host/dra/driver_server.h"

#include <algorithm>
#include <array>

#include "host/core/log.h"

namespace cardcage {
namespace {

using std::chrono::seconds;

// The modes that the kubelet itself gives these folders.
constexpr mode_t kRegistryMode = 0755, kPluginMode = 0750;
constexpr seconds kWatchedInterval{30};   // inotify does not see a new mount over a folder
constexpr seconds kUnwatchedInterval{1};  // without inotify, or after a failure
constexpr seconds kFirstOffer{10}, kLongestOffer{120};

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
                                                          HealthBoard& health, const DriverServerOptions& options) {
  auto sockets = driver_sockets(options.kubelet_root, options.driver, options.instance);
  if (!sockets) return within(sockets.error(), "driver '{}'", options.driver);
  std::unique_ptr<DriverServer> server(new DriverServer(core, clock, claims, health, options, std::move(*sockets)));
  if (auto opened = server->open_missing_sockets(); !opened)
    return within(opened.error(), "driver '{}'", server->name().name);
  server->PluginServer::start();
  log(LogLevel::kInfo, "serving the driver",
      {{"driver", server->name().name}, {"socket", server->sockets_.service.native()}});
  return server;
}

DriverServer::DriverServer(asio::io_context& core, Clock& clock, ClaimService& claims, HealthBoard& health,
                           const DriverServerOptions& options, DriverSockets sockets)
    : PluginServer(core, clock, {Api::kDra, options.driver}, plugin_info(options.driver, sockets.service)),
      sockets_(std::move(sockets)),
      dra_(core, clock, claims, options.limits),
      health_(core, clock, health, options.driver, options.health),
      server_(std::array{dra_.services()[0], dra_.services()[1], health_.services()[0], health_.services()[1],
                         registration().service()}),
      silence_(clock.now()),
      refusals_(kFirstOffer, kLongestOffer, name().name) {}

Status DriverServer::open_missing_sockets() {
  const auto open = [this](std::unique_ptr<SocketListener>& socket, const std::filesystem::path& path, mode_t mode) {
    if (socket && socket->present()) return Status{};
    socket.reset();
    auto opened = SocketListener::open(core(), path, mode,
                                       [this](UniqueFd connection) { server_.adopt(core(), std::move(connection)); });
    if (!opened) return Status(std::unexpected(with_key(opened.error(), "node.instance")));
    socket = std::move(*opened);
    return Status{};
  };
  const Status opened = open(service_socket_, sockets_.service, kPluginMode);
  return opened ? open(registration_socket_, sockets_.registration, kRegistryMode) : opened;
}

void DriverServer::registration_changed() {
  const RegistrationState state = registration().view().state;
  if (state == RegistrationState::kRegistered) {
    offer_again_.reset();
    refusals_.reset();
  } else if (state == RegistrationState::kRefused && !offer_again_) {
    offer_again_ = clock().now() + refusals_.next();
    wake();
  }
}

Instant DriverServer::maintain() {
  // Watch first: a socket that disappears between the check and the wait is an event then.
  const bool watched = folders().watch(sockets_.registration.parent_path()).has_value() &&
                       folders().watch(sockets_.service.parent_path()).has_value();
  const Instant now = clock().now();
  if (offer_again_ && *offer_again_ <= now) {
    offer_again_.reset();
    registration_socket_.reset();  // kubelets look for a new socket and call it
  }
  const Status opened = open_missing_sockets();
  if (!opened)
    log_limited(LogLevel::kError, "socket " + name().name, "cannot serve the driver",
                {{"driver", name().name}, {"error", opened.error().message}});
  if (silence_.noticed(registration().view().state == RegistrationState::kWaiting, now))
    log(LogLevel::kWarn, "no kubelet has asked for the driver: is node.kubelet_root the kubelet's --root-dir?",
        {{"driver", name().name}, {"socket", sockets_.registration.native()}});
  const Instant next = now + (watched && opened ? kWatchedInterval : kUnwatchedInterval);
  return offer_again_ ? std::min(next, *offer_again_) : next;
}

Task<void> DriverServer::withdraw() {
  registration_socket_.reset();
  service_socket_.reset();
  std::error_code ignored;
  std::filesystem::remove(sockets_.service.parent_path(), ignored);  // fails if another daemon has files in it
  health_.close();
  co_return;
}

DriverStatus DriverServer::status() const {
  return {sockets_, registration().view(), dra_.open_calls(), health_.streams()};
}

}  // namespace cardcage
