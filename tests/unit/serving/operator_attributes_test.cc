#include "host/serving/operator_attributes.h"

#include <gmock/gmock.h>

#include "host/core/log.h"
#include "host/model/attribute_limits.h"

namespace cardcage {
namespace {

TEST(OperatorAttributesTest, FewOfManyDevicesWithoutRoomAreLogged) {
  Device device;
  for (std::size_t i = 0; i < kMaxAttributes; ++i) device.attributes[fmt::format("a{}", i)] = true;
  AttributeConfig rack;
  rack.name = "rack";
  rack.value = std::string("r1");
  std::size_t logged = 0;
  divert_log([&logged](LogLevel, std::string_view, std::initializer_list<LogField>) { ++logged; });
  for (int i = 0; i < 100; ++i) {
    device.id = fmt::format("gpu-{}", i);
    add_operator_attributes({rack}, device);
    EXPECT_FALSE(device.attributes.contains("rack"));
  }
  divert_log({});
  EXPECT_LE(logged, 8u);
}

}  // namespace
}  // namespace cardcage
