// Tests the names of the bits in error registers.
#include "modules/fpga/health/error_bits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cardcage::fpga {
namespace {

TEST(FpgaErrorBits, NamesFollowTheValueInTheOrderOfTheBits) {
  EXPECT_EQ(decode_errors(0x4000000010001, error_bits::port()),
            "0x4000000010001 (channel 0 overflow, channel 1 overflow, AP6)");
  EXPECT_EQ(decode_errors(0x400, error_bits::catfatal()), "0x400 (catastrophic temperature)");
  EXPECT_EQ(decode_errors(0x200, error_bits::nonfatal()), "0x200 (temperature threshold AP6)");
  EXPECT_EQ(decode_errors(0x200, error_bits::pcie()), "0x200 (poisoned data)");
}

TEST(FpgaErrorBits, AFieldOfSeveralBitsIsNamedOnce) {
  EXPECT_EQ(decode_errors(0x180, error_bits::fme()), "0x180 (PCIe 0 clock-crossing parity)");
  EXPECT_EQ(decode_errors(0x1000, error_bits::fme()), "0x1000 (PCIe 1 clock-crossing parity)");
}

TEST(FpgaErrorBits, BitsWithoutANameStayNumbers) {
  EXPECT_EQ(decode_errors(1ULL << 63, error_bits::port()), "0x8000000000000000");
  EXPECT_EQ(decode_errors(0x8000000000000001, error_bits::port()), "0x8000000000000001 (channel 0 overflow)");
  EXPECT_EQ(decode_errors(0x4, {}), "0x4");
}

TEST(FpgaErrorBits, AllOnesAreNoErrors) {
  EXPECT_EQ(decode_errors(~0ULL, error_bits::port()), "all ones (the registers of the card do not respond)");
}

TEST(FpgaErrorBits, UpsetsAreBitsOfTheTables) {
  EXPECT_EQ(decode_errors(error_bits::kFpgaUpset, error_bits::fme()), "0x100000 (bit upset in the FPGA)");
  EXPECT_EQ(decode_errors(error_bits::kControllerUpset, error_bits::catfatal()),
            "0x1000 (bit upset in the board's controller)");
}

}  // namespace
}  // namespace cardcage::fpga
