#include "host/core/utf8.h"

#include <gmock/gmock.h>

namespace cardcage {
namespace {

TEST(Utf8Test, KeepsWhatFits) {
  EXPECT_EQ(cut_utf8("", 0), "");
  EXPECT_EQ(cut_utf8("abc", 3), "abc");
  EXPECT_EQ(cut_utf8("größe €\U0001F600", 64), "größe €\U0001F600");
}

TEST(Utf8Test, CutsBetweenCharactersAndSaysSo) {
  EXPECT_EQ(cut_utf8("abcdef", 5), "ab...");
  EXPECT_EQ(cut_utf8("a€€€", 6), "a...") << "the euro sign would end at byte 4, there is room for 3";
  EXPECT_EQ(cut_utf8("a€€€", 7), "a€...");
  EXPECT_EQ(cut_utf8("€€", 2), "");
  EXPECT_EQ(cut_utf8(std::string(5000, 'x'), 1024).size(), 1024u);
}

TEST(Utf8Test, ReplacesEveryByteThatIsNotUtf8) {
  EXPECT_EQ(cut_utf8("a\xFF\xFE z", 16), "a?? z");
  EXPECT_EQ(cut_utf8("\xC0\xAF", 16), "??") << "overlong";
  EXPECT_EQ(cut_utf8("\xED\xA0\x80", 16), "???") << "surrogate";
  EXPECT_EQ(cut_utf8("\xF4\x90\x80\x80", 16), "????") << "above U+10FFFF";
  EXPECT_EQ(cut_utf8("x\xE2\x82", 16), "x??") << "ends inside a character";
  EXPECT_EQ(cut_utf8(std::string_view("a\0b", 3), 16), std::string("a\0b", 3));
}

}  // namespace
}  // namespace cardcage
