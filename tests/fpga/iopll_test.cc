// Compares the settings of the user clock's PLL with OPAE's table, libraries/plugins/xfpga/usrclk/fpga_user_clk_freq.h.
#include "modules/fpga/dfl/iopll.h"

#include <gmock/gmock.h>

namespace cardcage::fpga {
namespace {

TEST(Iopll, SettingsAreThoseOfOpae) {
  constexpr IopllSettings kOpae[] = {
      {10000, 0x808, 0x10000, 0x5050, 0x2828, 0xc0, 4, 2},    {12000, 0x2727, 0x20302, 0x4141, 0x22120, 0x180, 4, 2},
      {15000, 0x2504f, 0x505, 0x3535, 0x21b1a, 0x180, 6, 2},  {27000, 0x20e0d, 0x101, 0x1919, 0x20d0c, 0x100, 4, 0},
      {28000, 0x707, 0x10000, 0x1919, 0x20d0c, 0xc0, 4, 0},   {41000, 0x23e3d, 0x505, 0xf0f, 0x20807, 0x180, 4, 2},
      {42000, 0x2201f, 0x20302, 0xf0f, 0x20807, 0x140, 4, 2}, {45000, 0x24d4c, 0x505, 0x1111, 0x20908, 0x180, 6, 2},
      {55000, 0x22726, 0x20302, 0xe0e, 0x707, 0x180, 4, 2},   {64000, 0x2020, 0x20302, 0xa0a, 0x505, 0x140, 4, 2},
      {66000, 0x2121, 0x20302, 0xa0a, 0x505, 0x180, 4, 2},    {75000, 0x20807, 0x10000, 0xa0a, 0x505, 0xc0, 4, 0},
      {86000, 0x21615, 0x20302, 0x505, 0x20302, 0x100, 4, 0}, {88000, 0x1616, 0x20302, 0x505, 0x20302, 0x140, 4, 2},
      {100000, 0x808, 0x10000, 0x808, 0x404, 0xc0, 4, 2},     {123000, 0x23e3d, 0x505, 0x505, 0x20302, 0x180, 4, 2},
      {125000, 0x20807, 0x10000, 0x606, 0x303, 0xc0, 4, 0},   {127000, 0x2403f, 0x505, 0x505, 0x20302, 0x180, 6, 2},
      {150000, 0x20807, 0x10000, 0x505, 0x20302, 0xc0, 4, 0}, {159000, 0x2504f, 0x505, 0x505, 0x20302, 0x180, 6, 2},
      {200000, 0x808, 0x10000, 0x404, 0x202, 0xc0, 4, 2},     {225000, 0x20e0d, 0x101, 0x303, 0x20201, 0x100, 4, 0},
      {250000, 0x20807, 0x10000, 0x303, 0x20201, 0xc0, 4, 0}, {275000, 0x20605, 0x10000, 0x202, 0x101, 0xc0, 4, 0},
      {300000, 0x606, 0x10000, 0x202, 0x101, 0xc0, 4, 0}};
  for (const IopllSettings& expected : kOpae) {
    const auto settings = iopll_settings(expected.khz / 1000);
    ASSERT_TRUE(settings) << expected.khz;
    EXPECT_EQ(*settings, expected) << expected.khz;
  }
}

TEST(Iopll, ARateThatCannotBeMadeIsTheNextSlowerOne) {
  EXPECT_EQ(iopll_settings(161)->khz, 160000u);
  EXPECT_EQ(iopll_settings(299)->khz, 295000u);
}

TEST(Iopll, NothingIsMadeOutsideItsRange) {
  EXPECT_FALSE(iopll_settings(9));
  EXPECT_FALSE(iopll_settings(0));
  EXPECT_FALSE(iopll_settings(301));
  for (unsigned mhz = 10; mhz <= 300; ++mhz) {
    const auto settings = iopll_settings(mhz);
    ASSERT_TRUE(settings) << mhz;
    EXPECT_LE(settings->khz, mhz * 1000);
    EXPECT_GE(settings->khz, mhz * 970) << mhz;
  }
}

}  // namespace
}  // namespace cardcage::fpga
