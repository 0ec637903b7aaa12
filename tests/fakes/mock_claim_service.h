// ClaimService with GoogleMock.
#pragma once

#include <gmock/gmock.h>

#include "host/claim/claim_service.h"

namespace cardcage {

class MockClaimService : public ClaimService {
 public:
  MOCK_METHOD(Task<Result<std::vector<PreparedDevice>>>, prepare, (ClaimRef claim, Instant deadline), (override));
  MOCK_METHOD(Task<Status>, unprepare, (ClaimRef claim, Instant deadline), (override));
};

}  // namespace cardcage
