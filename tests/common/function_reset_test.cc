#include "modules/common/function_reset.h"

#include <gmock/gmock.h>

#include "tests/common/kernel_tree.h"
#include "tests/common/recording_host.h"

namespace cardcage::hardware {
namespace {

const std::string kPhysicalOne = "0000:01:00.0", kVirtualOne = "0000:01:10.0";

class FunctionResetTest : public ::testing::Test {
 protected:
  FunctionResetTest() {
    tree.virtual_function(kPhysicalOne, 0, kVirtualOne);
    tree.attribute(kVirtualOne, "reset", "");
    tree.attribute(kPhysicalOne, "reset", "");
  }
  KernelTree tree;
  RecordingHost host;
  const FunctionReset reset{host.host(), tree.sysfs()};
};

TEST_F(FunctionResetTest, AFunctionIsResetAlone) {
  tree.attribute(kVirtualOne, "reset_method", "flr bus\n");
  EXPECT_TRUE(reset.can_reset(kVirtualOne));
  tree.attribute(kVirtualOne, "reset_method", "bus\n");
  EXPECT_FALSE(reset.can_reset(kVirtualOne));
  tree.attribute(kVirtualOne, "reset_method", "\n");
  EXPECT_FALSE(reset.can_reset(kVirtualOne)) << "the administrator has turned it off";
}

TEST_F(FunctionResetTest, LinuxBefore515DoesNotTellHow) {
  EXPECT_TRUE(reset.can_reset(kVirtualOne)) << "the specification demands it of virtual functions";
  EXPECT_FALSE(reset.can_reset(kPhysicalOne)) << "it may be that of the bus";
  EXPECT_FALSE(reset.can_reset("0000:02:00.0")) << "it has none";
}

}  // namespace
}  // namespace cardcage::hardware
