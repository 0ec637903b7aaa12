#include "host/core/shared_map.h"

#include <gmock/gmock.h>

#include <string>

namespace cardcage {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using Map = SharedMap<std::string, int>;

TEST(SharedMapTest, CopiesShareTheirContent) {
  const Map map{{"a", 1}, {"b", 2}};
  const Map copy = map;
  EXPECT_EQ(&copy.at("a"), &map.at("a"));
  EXPECT_EQ(copy, map);
  EXPECT_THAT(copy, ElementsAre(Pair("a", 1), Pair("b", 2)));
}

TEST(SharedMapTest, AChangeLeavesCopiesAsTheyAre) {
  Map map{{"a", 1}, {"b", 2}};
  const Map copy = map;
  map["a"] = 3;
  EXPECT_FALSE(map.emplace("b", 9).second);
  EXPECT_TRUE(map.emplace("c", 4).second);
  EXPECT_THAT(map, ElementsAre(Pair("a", 3), Pair("b", 2), Pair("c", 4)));
  EXPECT_THAT(copy, ElementsAre(Pair("a", 1), Pair("b", 2)));

  Map other = copy;
  other.erase("a");
  EXPECT_FALSE(other.contains("a"));
  other.erase_if([](const auto& entry) { return entry.second == 2; });
  EXPECT_THAT(other, IsEmpty());
  EXPECT_EQ(copy.size(), 2u);
}

TEST(SharedMapTest, IsComparedByContent) {
  EXPECT_EQ((Map{{"a", 1}}), (Map{{"a", 1}}));
  EXPECT_NE((Map{{"a", 1}}), (Map{{"a", 2}}));
  EXPECT_EQ(Map{}, Map());
  EXPECT_EQ(Map().find("a"), Map().end());
}

}  // namespace
}  // namespace cardcage
