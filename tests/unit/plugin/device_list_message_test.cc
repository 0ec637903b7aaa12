#include "host/plugin/device_list_message.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace cardcage {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> ids_of(const DeviceListMessage& made) {
  std::vector<std::string> ids;
  for (const auto& device : made.message.devices()) ids.push_back(device.id());
  return ids;
}

TEST(DeviceListMessageTest, WritesHealthyExactlyAndOmitsATopologyWithoutNodes) {
  const auto made = device_list_message({{"gpu-0", true, {0, 2}}, {"gpu-1", false, {}}, {"gpu-2", true, {-1}}});
  EXPECT_EQ(made.message.ShortDebugString(),
            "devices { ID: \"gpu-0\" health: \"Healthy\" topology { nodes { } nodes { ID: 2 } } } "
            "devices { ID: \"gpu-1\" health: \"Unhealthy\" } devices { ID: \"gpu-2\" health: \"Healthy\" }");
  EXPECT_EQ(made.left_out, 0u);
}

TEST(DeviceListMessageTest, LeavesOutTheLastUnhealthyDevicesFirst) {
  const DeviceList list{{"a", false, {}}, {"b", true, {}}, {"c", false, {}}, {"d", true, {}}, {"e", true, {}}};
  const std::size_t all = device_list_message(list).message.ByteSizeLong();
  EXPECT_THAT(ids_of(device_list_message(list, all)), ElementsAre("a", "b", "c", "d", "e"));
  const auto one_less = device_list_message(list, all - 1);
  EXPECT_THAT(ids_of(one_less), ElementsAre("a", "b", "d", "e"));
  EXPECT_EQ(one_less.left_out, 1u);
  EXPECT_THAT(ids_of(device_list_message(list, 45)), ElementsAre("b", "d", "e"));
  EXPECT_THAT(ids_of(device_list_message(list, 30)), ElementsAre("b", "d"));
  EXPECT_THAT(ids_of(device_list_message(list, 3)), ElementsAre());
  for (std::size_t limit = 0; limit < all; ++limit)
    EXPECT_LE(device_list_message(list, limit).message.ByteSizeLong(), limit);
}

TEST(DeviceListMessageTest, AHundredThousandDevicesStayBelowTheKubeletsLimit) {
  DeviceList list;
  for (int i = 0; i < 100'000; ++i) list.push_back({fmt::format("{:063}", i), i % 2 == 0, {i % 8}});
  const auto made = device_list_message(list);
  EXPECT_LE(made.message.ByteSizeLong(), kMaxListBytes);
  EXPECT_GT(made.message.ByteSizeLong(), kMaxListBytes - 100);
  EXPECT_EQ(made.left_out + static_cast<std::size_t>(made.message.devices_size()), list.size());
}

}  // namespace
}  // namespace cardcage
