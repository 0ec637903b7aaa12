#include "host/serving/select.h"

#include <gtest/gtest.h>

namespace cardcage {
namespace {

Device fpga() {
  Device device;
  device.id = "FPGA-1";
  device.name = "fpga-1";
  device.kind = "fpga";
  device.parent_id = "CARD-0";
  device.pci_bus_id = "0000:3b:00.0";
  device.attributes = {{"region", std::string("d5005")},
                       {"slots", std::int64_t{4}},
                       {"secure", true},
                       {"fw", SemVer{"2.3.0"}},
                       {"ports", std::vector<std::int64_t>{1, 2}},
                       {"example.com/tier", std::string("gold")},
                       {"modes", std::vector<std::string>{"fast", "slow"}}};
  return device;
}

TEST(SelectTest, AnEmptySelectTakesEverything) { EXPECT_TRUE(matches({}, fpga())); }

TEST(SelectTest, MembersMatchByGlob) {
  EXPECT_TRUE(matches({{"kind", "fpga"}}, fpga()));
  EXPECT_TRUE(matches(
      {{"kind", "f*"}, {"id", "FPGA-[0-9]"}, {"name", "fpga-?"}, {"parent", "CARD-0"}, {"pci", "0000:3b:*"}}, fpga()));
  EXPECT_FALSE(matches({{"kind", "gpu"}}, fpga()));
  EXPECT_FALSE(matches({{"kind", "fpga"}, {"parent", ""}}, fpga()));
  EXPECT_TRUE(matches({{"parent", ""}}, Device{}));
}

TEST(SelectTest, AttributesMatchByTheirType) {
  EXPECT_TRUE(matches({{"attributes.region", "d5*"},
                       {"attributes.slots", std::int64_t{4}},
                       {"attributes.secure", true},
                       {"attributes.fw", "2.*"},
                       {"attributes.example.com/tier", "gold"}},
                      fpga()));
  EXPECT_FALSE(matches({{"attributes.slots", "4"}}, fpga()));
  EXPECT_FALSE(matches({{"attributes.slots", true}}, fpga()));
  EXPECT_FALSE(matches({{"attributes.secure", std::int64_t{1}}}, fpga()));
  EXPECT_FALSE(matches({{"attributes.secure", false}}, fpga()));
}

TEST(SelectTest, AListMatchesIfOneItemDoes) {
  EXPECT_TRUE(matches({{"attributes.ports", std::int64_t{2}}, {"attributes.modes", "s*"}}, fpga()));
  EXPECT_FALSE(matches({{"attributes.ports", std::int64_t{3}}}, fpga()));
}

TEST(SelectTest, AMissingAttributeMatchesNothing) {
  EXPECT_FALSE(matches({{"attributes.model", "*"}}, fpga()));
  EXPECT_FALSE(matches({{"attributes.", "*"}}, fpga()));
  EXPECT_FALSE(matches({{"colour", "*"}}, fpga()));
}

}  // namespace
}  // namespace cardcage
