// The part of a driver that the kubelet calls. In an upgrade the next daemon opens it before the ledger.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "host/claim/claim_service.h"
#include "host/config/config.h"
#include "host/core/clock.h"
#include "host/dra/driver_server.h"

namespace cardcage {

// [core] Calls wait until a service handles them, or fail at their deadline.
class HeldClaims final : public ClaimService {
 public:
  HeldClaims(asio::io_context& core, Clock& clock) : core_(core), clock_(clock) {}

  // `claims` outlives every call.
  void serve_by(ClaimService& claims);

  Task<Result<std::vector<PreparedDevice>>> prepare(ClaimRef claim, Instant deadline) override;
  Task<Status> unprepare(ClaimRef claim, Instant deadline) override;

 private:
  Task<Status> served(Instant deadline);

  asio::io_context& core_;
  Clock& clock_;
  std::vector<OneShot<bool>> held_;  // one per call
  ClaimService* claims_ = nullptr;
};

DriverServerOptions driver_server_options(const Config& config, const std::string& driver);

// The server uses the other members until it is stopped.
struct DriverFront {
  DriverFront(asio::io_context& core, Clock& clock) : claims(core, clock) {}

  HeldClaims claims;
  HealthBoard health;
  std::unique_ptr<DriverServer> server;  // null until it is open, and after a Driver has taken it
};

}  // namespace cardcage
