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

// Matches with one table that requires one value of each key.
bool matches_all(const std::map<std::string, SelectValue>& values, const Device& device) {
  SelectTable table;
  for (const auto& [key, value] : values) table[key] = {value};
  return matches({table}, device);
}

TEST(SelectTest, ATableWithoutConditionsTakesEverything) {
  EXPECT_TRUE(matches(ServeConfig().select, fpga()));
  EXPECT_TRUE(matches_all({}, fpga()));
}

TEST(SelectTest, MembersMatchByGlob) {
  EXPECT_TRUE(matches_all({{"kind", "fpga"}}, fpga()));
  EXPECT_TRUE(matches_all(
      {{"kind", "f*"}, {"id", "FPGA-[0-9]"}, {"name", "fpga-?"}, {"parent", "CARD-0"}, {"pci", "0000:3b:*"}}, fpga()));
  EXPECT_FALSE(matches_all({{"kind", "gpu"}}, fpga()));
  EXPECT_FALSE(matches_all({{"kind", "fpga"}, {"parent", ""}}, fpga()));
  EXPECT_TRUE(matches_all({{"parent", ""}}, Device{}));
}

TEST(SelectTest, AttributesMatchByTheirType) {
  EXPECT_TRUE(matches_all({{"attributes.region", "d5*"},
                           {"attributes.slots", std::int64_t{4}},
                           {"attributes.secure", true},
                           {"attributes.fw", "2.*"},
                           {"attributes.example.com/tier", "gold"}},
                          fpga()));
  EXPECT_FALSE(matches_all({{"attributes.slots", "4"}}, fpga()));
  EXPECT_FALSE(matches_all({{"attributes.slots", true}}, fpga()));
  EXPECT_FALSE(matches_all({{"attributes.secure", std::int64_t{1}}}, fpga()));
  EXPECT_FALSE(matches_all({{"attributes.secure", false}}, fpga()));
}

TEST(SelectTest, AListMatchesIfOneItemDoes) {
  EXPECT_TRUE(matches_all({{"attributes.ports", std::int64_t{2}}, {"attributes.modes", "s*"}}, fpga()));
  EXPECT_FALSE(matches_all({{"attributes.ports", std::int64_t{3}}}, fpga()));
}

TEST(SelectTest, AMissingAttributeMatchesNothing) {
  EXPECT_FALSE(matches_all({{"attributes.model", "*"}}, fpga()));
  EXPECT_FALSE(matches_all({{"attributes.", "*"}}, fpga()));
  EXPECT_FALSE(matches_all({{"colour", "*"}}, fpga()));
}

TEST(SelectTest, OneOfTheValuesMustMatch) {
  const SelectTable table{{"kind", {"gpu", "f*"}}, {"attributes.slots", {std::int64_t{2}, std::int64_t{4}}}};
  EXPECT_TRUE(matches({table}, fpga()));
  Device other = fpga();
  other.attributes = {{"slots", std::int64_t{3}}};
  EXPECT_FALSE(matches({table}, other)) << "each key must match";
  other.attributes = {{"slots", std::int64_t{2}}};
  EXPECT_TRUE(matches({table}, other));
  other.kind = "nic";
  EXPECT_FALSE(matches({table}, other));
}

TEST(SelectTest, OneOfTheTablesMustSelectTheDevice) {
  const SelectTable gpu{{"kind", {"gpu"}}}, card{{"parent", {"CARD-0"}}},
      gpu_of_card{{"kind", {"gpu"}}, {"parent", {"CARD-0"}}};
  EXPECT_TRUE(matches({gpu, card}, fpga()));
  EXPECT_TRUE(matches({card, gpu}, fpga()));
  EXPECT_FALSE(matches({gpu, gpu_of_card}, fpga())) << "the keys of a table belong together";
}

}  // namespace
}  // namespace cardcage
