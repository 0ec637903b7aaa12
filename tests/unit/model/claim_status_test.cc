#include "host/model/claim_status.h"

#include <gmock/gmock.h>

namespace cardcage {
namespace {

using namespace std::chrono_literals;
using enum DeviceCondition::Status;

TEST(ClaimStatusTest, ATimeChangesOnlyWithTheStatus) {
  const WallTime noon(12h), later(13h);
  const std::vector<DeviceCondition> before = {{"Ready", kFalse, "Busy", "1 of 2", noon},
                                               {"Linked", kTrue, "Up", "", noon}};
  std::vector<DeviceCondition> stated = {{"Ready", kTrue, "Done", "", {}},
                                         {"Linked", kTrue, "Up", "100 Gbit/s", {}},
                                         {"New", kUnknown, "Waiting", "", {}}};
  set_times(stated, before, later);
  EXPECT_EQ(stated[0].since, later);
  EXPECT_EQ(stated[1].since, noon) << "only its message is new";
  EXPECT_EQ(stated[2].since, later);
}

}  // namespace
}  // namespace cardcage
