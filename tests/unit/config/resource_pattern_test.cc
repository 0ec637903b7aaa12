#include "host/config/resource_pattern.h"

#include <gmock/gmock.h>

namespace cardcage {
namespace {

using ::testing::HasSubstr;

Device mig() {
  Device device;
  device.attributes = {{"profile", std::string("1g.5gb")},
                       {"media", std::string("1g.5gb+me")},
                       {"productName", std::string("NVIDIA A100 (PCIe)")},
                       {"index", std::int64_t{-3}},
                       {"ecc", true},
                       {"driver", SemVer{"550.54.0"}},
                       {"example.com/tier", std::string("a/b")},
                       {"empty", std::string()},
                       {"ports", std::vector<std::int64_t>{1}}};
  return device;
}

std::string name(std::string_view pattern) { return resource_name(pattern, mig()).value_or("(none)"); }
std::string fault(std::string_view pattern) {
  const auto given = resource_name(pattern, mig());
  return given ? "gives " + *given : given.error().message;
}

TEST(ResourcePatternTest, ANameIsAPatternWithoutAttributes) {
  EXPECT_EQ(name("nvidia.com/gpu"), "nvidia.com/gpu");
  EXPECT_FALSE(has_attributes("nvidia.com/gpu"));
  EXPECT_TRUE(has_attributes("nvidia.com/mig-{profile}"));
}

TEST(ResourcePatternTest, AttributesOfOneValueBecomePartOfTheName) {
  EXPECT_EQ(name("nvidia.com/mig-{profile}"), "nvidia.com/mig-1g.5gb");
  EXPECT_EQ(name("nvidia.com/{profile}_{index}.{profile}"), "nvidia.com/1g.5gb_-3.1g.5gb");
  EXPECT_EQ(name("nvidia.com/x{ecc}{driver}"), "nvidia.com/xtrue550.54.0");
}

TEST(ResourcePatternTest, CharactersThatNoNameHasBecomeDots) {
  EXPECT_EQ(name("nvidia.com/mig-{media}"), "nvidia.com/mig-1g.5gb.me");
  EXPECT_EQ(name("nvidia.com/{productName}-x"), "nvidia.com/NVIDIA.A100..PCIe.-x");
  EXPECT_EQ(name("nvidia.com/{example.com/tier}"), "nvidia.com/a.b");
}

TEST(ResourcePatternTest, ADeviceWithoutAValidNameHasNone) {
  EXPECT_EQ(fault("nvidia.com/mig-{slices}"), "it has no attribute 'slices'");
  EXPECT_EQ(fault("nvidia.com/mig-{ports}"), "its attribute 'ports' is a list and gives no name");
  EXPECT_THAT(fault("nvidia.com/mig-{empty}"), HasSubstr("'nvidia.com/mig-' is not a resource name: after '/' only"));
  EXPECT_THAT(fault("nvidia.com/{productName}"), HasSubstr("with a letter or digit at both ends"));
  EXPECT_THAT(fault("nvidia.com/" + std::string(58, 'x') + "{profile}"), HasSubstr("has 64 bytes, at most 63"));
}

TEST(ResourcePatternTest, KnowsWhichNamesItCanGive) {
  EXPECT_TRUE(can_give("nvidia.com/mig-{profile}", "nvidia.com/mig-1g.5gb.me"));
  EXPECT_FALSE(can_give("nvidia.com/mig-{profile}", "nvidia.com/gpu"));
  EXPECT_FALSE(can_give("nvidia.com/mig-{profile}-x", "nvidia.com/mig-1g.5gb"));
  EXPECT_TRUE(can_give("nvidia.com/gpu", "nvidia.com/gpu"));
  EXPECT_FALSE(can_give("nvidia.com/gpu", "nvidia.com/gpu.shared"));
  EXPECT_FALSE(can_give("", "nvidia.com/gpu")) << "a rule for a driver";
}

}  // namespace
}  // namespace cardcage
