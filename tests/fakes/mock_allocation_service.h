// AllocationService with GoogleMock.
#pragma once

#include <gmock/gmock.h>

#include "host/claim/allocation_service.h"

namespace cardcage {

class MockAllocationService : public AllocationService {
 public:
  MOCK_METHOD(ResourceTraits, traits, (), (const, override));
  MOCK_METHOD(Task<Result<ContainerGrant>>, allocate, (std::vector<std::string> ids, Instant deadline), (override));
  MOCK_METHOD(Task<std::vector<std::string>>, preferred, (PreferenceQuery query, Instant deadline), (override));
  MOCK_METHOD(Task<Status>, pre_start, (std::vector<std::string> ids, Instant deadline), (override));
};

}  // namespace cardcage
