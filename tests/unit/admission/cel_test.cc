#include "host/admission/cel.h"

#include <gtest/gtest.h>

#include <vector>

namespace cardcage {
namespace {

TEST(CelTest, QuotesText) {
  EXPECT_EQ(cel_string(""), "''");
  EXPECT_EQ(cel_string("plain"), "'plain'");
  EXPECT_EQ(cel_string("it's"), "\"it's\"");
  EXPECT_EQ(cel_string("say \"a\""), "'say \"a\"'");
  EXPECT_EQ(cel_string("it's \"a\""), "'it\\'s \"a\"'");
  EXPECT_EQ(cel_string("a\\b"), "'a\\\\b'");
}

// An expression is sent in YAML, whose readers treat some characters as line breaks.
TEST(CelTest, EscapesAllButPrintableAscii) {
  EXPECT_EQ(cel_string("a\nb\x7f"), "'a\\U0000000ab\\U0000007f'");
  EXPECT_EQ(cel_string("größer"), "'gr\\U000000f6\\U000000dfer'");
  EXPECT_EQ(cel_string("\u0085\u2028\U0001F600"), "'\\U00000085\\U00002028\\U0001f600'");
}

TEST(CelTest, ListsTexts) {
  EXPECT_EQ(cel_strings({}), "[]");
  EXPECT_EQ(cel_strings(std::vector<std::string>{"a", "it's"}), "['a', \"it's\"]");
}

}  // namespace
}  // namespace cardcage
