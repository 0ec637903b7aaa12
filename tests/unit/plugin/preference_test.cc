#include "host/plugin/preference.h"

#include <gmock/gmock.h>

namespace cardcage {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Ids = std::vector<std::string>;

const DeviceList kListed{{"a", true, {}}, {"b", true, {}}, {"c", true, {}}, {"d", false, {}}};

TEST(PreferenceTest, DropsDuplicateUnknownAndExcessIds) {
  const auto query = sanitize({{"a", "x", "b", "a", "c"}, {"b", "b", "d", "y"}, 9}, kListed);
  EXPECT_THAT(query.available, ElementsAre("a", "b", "c"));
  EXPECT_THAT(query.required, ElementsAre("b"));
  EXPECT_EQ(query.wanted, 3u);
  EXPECT_THAT(sanitize({{"x"}, {"x"}, 1}, kListed).available, IsEmpty());
}

TEST(PreferenceTest, RequiredIdsComeFirstThenTheChoiceThenTheOthers) {
  const auto query = sanitize({{"a", "b", "c"}, {"c"}, 3}, kListed);
  EXPECT_THAT(complete(query, {}), ElementsAre("c", "a", "b"));
  EXPECT_THAT(complete(query, Ids{"b"}), ElementsAre("c", "b", "a"));
  EXPECT_THAT(complete(query, Ids{"b", "b", "d", "junk"}), ElementsAre("c", "b", "a"));
}

TEST(PreferenceTest, NeverReturnsMoreThanWanted) {
  EXPECT_THAT(complete(sanitize({{"a", "b", "c"}, {"c", "b"}, 1}, kListed), Ids{"a"}), ElementsAre("c"));
  EXPECT_THAT(complete(sanitize({{"a", "b", "c"}, {}, 0}, kListed), Ids{"a"}), IsEmpty());
  EXPECT_THAT(complete(sanitize({{"a", "b"}, {}, 2}, kListed), Ids{"c", "b", "a"}), ElementsAre("b", "a"));
}

}  // namespace
}  // namespace cardcage
