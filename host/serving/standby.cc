#include "host/serving/standby.h"

#include <algorithm>
#include <utility>

#include "host/core/log.h"
#include "host/kubelet/socket_records.h"

namespace cardcage {
namespace {

constexpr Duration kCloseLimit = std::chrono::seconds(1);
// Suffix that distinguishes the sockets of two daemons with the same node.instance.
constexpr const char* kOther = "2";

bool configured(const Config& config, const std::string& driver) {
  return std::ranges::any_of(config.modules, [&](const ModuleConfig& module) {
    return std::ranges::any_of(module.serve,
                               [&](const ServeConfig& rule) { return rule.api == Api::kDra && rule.driver == driver; });
  });
}

}  // namespace

void Standby::open() {
  if (!fronts_.empty()) return;
  for (const auto& [driver, sockets] : recorded_sockets(config_.node.state_dir / kSocketRecords))
    if (configured(config_, driver)) open(driver, sockets);
}

void Standby::open(const std::string& driver, const DriverSockets& of_previous) {
  DriverServerOptions options = driver_server_options(config_, driver);
  if (driver_sockets(options.kubelet_root, driver, options.instance) == of_previous)
    options.instance += options.instance.empty() ? kOther : std::string("-") + kOther;
  auto front = std::make_unique<DriverFront>(core_, clock_);
  auto server = DriverServer::start(core_, clock_, front->claims, front->health, options);
  if (!server) {
    log(LogLevel::kWarn, "the driver is served only once the previous daemon has exited",
        {{"driver", driver}, {"error", server.error().message}});
    return;
  }
  front->server = std::move(*server);
  fronts_.emplace(driver, std::move(front));
}

bool Standby::registered() const {
  return std::ranges::all_of(fronts_, [](const auto& front) {
    return front.second->server->status().registration.state == RegistrationState::kRegistered;
  });
}

std::unique_ptr<DriverFront> Standby::take(const std::string& driver) {
  const auto open = fronts_.extract(driver);
  return open ? std::move(open.mapped()) : std::make_unique<DriverFront>(core_, clock_);
}

Task<void> Standby::close() {
  for (auto& [driver, front] : fronts_)
    if (const auto server = std::exchange(front->server, nullptr)) co_await server->stop(clock_.now() + kCloseLimit);
}

}  // namespace cardcage
