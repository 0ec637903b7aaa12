// The binding conditions that the API server refuses (k/k pkg/apis/resource/validation).
#include "host/model/binding.h"

#include <gmock/gmock.h>

namespace cardcage {
namespace {

using testing::HasSubstr;
using Types = std::vector<std::string>;

std::string flaw(const Types& conditions, const Types& failures) {
  return flaw_of({conditions, failures}).value_or("none");
}

TEST(Binding, TakesWhatTheApiServerTakes) {
  EXPECT_EQ(flaw({}, {}), "none") << "a device without conditions is ready at once";
  EXPECT_EQ(flaw({"Ready"}, {"Failed"}), "none");
  EXPECT_EQ(flaw({"a", "b", "c", "example.com/D"}, {"e", "f", "g", "h"}), "none");
}

TEST(Binding, NeedsOneToFourOfEach) {
  EXPECT_EQ(flaw({"Ready"}, {}), "it has 0 binding failures, 1 to 4 are allowed");
  EXPECT_EQ(flaw({}, {"Failed"}), "it has 0 binding conditions, 1 to 4 are allowed");
  EXPECT_THAT(flaw({"a", "b", "c", "d", "e"}, {"f"}), HasSubstr("it has 5 binding conditions"));
  EXPECT_THAT(flaw({"f"}, {"a", "b", "c", "d", "e"}), HasSubstr("it has 5 binding failures"));
}

TEST(Binding, TypesHaveNamesAndComeOnce) {
  EXPECT_THAT(flaw({"not ready"}, {"Failed"}), HasSubstr("'not ready' among its binding conditions is not the type"));
  EXPECT_THAT(flaw({"Ready"}, {""}), HasSubstr("'' among its binding failures"));
  EXPECT_THAT(flaw({"Ready", "Ready"}, {"Failed"}), HasSubstr("condition 'Ready' comes twice"));
  EXPECT_THAT(flaw({"Ready"}, {"Failed", "Ready"}), HasSubstr("condition 'Ready' comes twice"));
}

}  // namespace
}  // namespace cardcage
