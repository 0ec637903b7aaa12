// Measures how long the calls of a ClaimService take.
#pragma once

#include "host/claim/call_meter.h"
#include "host/claim/claim_service.h"
#include "host/core/clock.h"

namespace cardcage {

// [core] Everything outlives it.
class MeasuredClaims final : public ClaimService {
 public:
  MeasuredClaims(std::string driver, ClaimService& claims, CallMeter& meter, Clock& clock)
      : driver_(std::move(driver)), claims_(claims), meter_(meter), clock_(clock) {}

  Task<Result<std::vector<PreparedDevice>>> prepare(ClaimRef claim, Instant deadline) override {
    return meter_.measured(KubeletCall::kPrepare, driver_, clock_, claims_.prepare(std::move(claim), deadline));
  }
  Task<Status> unprepare(ClaimRef claim, Instant deadline) override {
    return meter_.measured(KubeletCall::kUnprepare, driver_, clock_, claims_.unprepare(std::move(claim), deadline));
  }

 private:
  const std::string driver_;
  ClaimService& claims_;
  CallMeter& meter_;
  Clock& clock_;
};

}  // namespace cardcage
