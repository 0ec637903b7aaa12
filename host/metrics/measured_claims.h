// Measures what a driver's claims take.
#pragma once

#include "host/claim/claim_service.h"
#include "host/core/clock.h"
#include "host/metrics/metrics.h"

namespace cardcage {

// [core] Everything outlives it.
class MeasuredClaims final : public ClaimService {
 public:
  MeasuredClaims(std::string driver, ClaimService& claims, Metrics& metrics, Clock& clock)
      : driver_(std::move(driver)), claims_(claims), metrics_(metrics), clock_(clock) {}

  Task<Result<std::vector<PreparedDevice>>> prepare(ClaimRef claim, Instant deadline) override {
    return metrics_.measured(KubeletCall::kPrepare, driver_, clock_, claims_.prepare(std::move(claim), deadline));
  }
  Task<Status> unprepare(ClaimRef claim, Instant deadline) override {
    return metrics_.measured(KubeletCall::kUnprepare, driver_, clock_, claims_.unprepare(std::move(claim), deadline));
  }

 private:
  const std::string driver_;
  ClaimService& claims_;
  Metrics& metrics_;
  Clock& clock_;
};

}  // namespace cardcage
