#include "modules/common/text.h"

#include <gtest/gtest.h>

#include <utility>

namespace cardcage::hardware {
namespace {

TEST(TextTest, TrimsBothEnds) {
  for (const auto& [given, wanted] : {std::pair("", ""), std::pair(" \t\r\n", ""), std::pair("READY", "READY"),
                                      std::pair("\t GPU 7 \r\n", "GPU 7"), std::pair("a\nb\n", "a\nb")})
    EXPECT_EQ(trimmed(given), wanted);
}

}  // namespace
}  // namespace cardcage::hardware
