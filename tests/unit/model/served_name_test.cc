#include "host/model/served_name.h"

#include <gtest/gtest.h>

namespace cardcage {
namespace {

TEST(ServedNameTest, AStoredNameWithASlashIsAResource) {
  EXPECT_EQ(served_name_from_stored("example.com/gpu"), (ServedName{Api::kDevicePlugin, "example.com/gpu"}));
  EXPECT_EQ(served_name_from_stored("gpu.example.com"), (ServedName{Api::kDra, "gpu.example.com"}));
}

TEST(ServedNameTest, SaysWhatItIsTheNameOf) {
  EXPECT_STREQ((ServedName{Api::kDra, "gpu.example.com"}).kind(), "driver");
  EXPECT_STREQ((ServedName{Api::kDevicePlugin, "example.com/gpu"}).kind(), "resource");
}

}  // namespace
}  // namespace cardcage
