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
    const Instant begun = clock_.now();
    auto prepared = co_await claims_.prepare(std::move(claim), deadline);
    metrics_.answered(KubeletCall::kPrepare, driver_, prepared ? Code::kOk : prepared.error().code,
                      clock_.now() - begun);
    co_return prepared;
  }
  Task<Status> unprepare(ClaimRef claim, Instant deadline) override {
    const Instant begun = clock_.now();
    Status unprepared = co_await claims_.unprepare(std::move(claim), deadline);
    metrics_.answered(KubeletCall::kUnprepare, driver_, unprepared ? Code::kOk : unprepared.error().code,
                      clock_.now() - begun);
    co_return unprepared;
  }

 private:
  const std::string driver_;
  ClaimService& claims_;
  Metrics& metrics_;
  Clock& clock_;
};

}  // namespace cardcage
