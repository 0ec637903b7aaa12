#include "host/model/device.h"

#include <gtest/gtest.h>

namespace cardcage {
namespace {

TEST(Snapshot, FindsADeviceByItsId) {
  Snapshot snapshot;
  for (const char* id : {"a", "b", "c"}) snapshot.devices.emplace_back().id = id;
  EXPECT_EQ(snapshot.find("b"), &snapshot.devices[1]);
  EXPECT_EQ(snapshot.find("bb"), nullptr);
  EXPECT_EQ(snapshot.find("d"), nullptr);
  EXPECT_EQ(Snapshot{}.find("a"), nullptr);
}

}  // namespace
}  // namespace cardcage
