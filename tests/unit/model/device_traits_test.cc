// A new trait that describe() or every_trait() leaves out fails here.
#include <gtest/gtest.h>

#include "tests/fakes/every_trait.h"

namespace cardcage {
namespace {

struct Anything {
  template <class T>
  operator T() const;  // NOLINT(google-explicit-constructor)
};

template <class Struct, class... Members>
constexpr std::size_t member_count() {
  if constexpr (requires { Struct{Members{}..., Anything{}}; })
    return member_count<Struct, Members..., Anything>();
  else
    return sizeof...(Members);
}

TEST(DeviceTraitsTest, DescribeVisitsEachMember) {
  std::size_t visited = 0;
  DeviceTraits traits = every_trait();
  const auto reset = [&]<class Trait>(std::string_view name, Trait& trait) {
    EXPECT_FALSE(trait == Trait{}) << name << " is not set by every_trait()";
    trait = Trait{};
    ++visited;
  };
  describe(reset, traits);
  EXPECT_EQ(traits, DeviceTraits{});
  EXPECT_EQ(visited, member_count<DeviceTraits>() - 1 + member_count<Binding>())
      << "a binding has names for its members";
}

}  // namespace
}  // namespace cardcage
