#include "web/server/reviews.h"

#include <gmock/gmock.h>

#include "tests/unit/web/reviews_fixture.h"

namespace cardcage {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;

class ReviewsTest : public ReviewsFixture {};

TEST_F(ReviewsTest, AUserWithTheRightMayLook) {
  const auto alice = visitor("alices");
  ASSERT_TRUE(alice) << alice.error().message;
  EXPECT_EQ(alice->name, "alice");
  EXPECT_FALSE(alice->may_command) << "that takes the verb update";
}

TEST_F(ReviewsTest, CommandsTakeARightOfTheirOwn) {
  api.allow("alice", "update", kNode);
  EXPECT_TRUE(visitor("alices")->may_command);
  make_reviews(false);
  EXPECT_FALSE(visitor("alices")->may_command) << "the server allows none";
}

TEST_F(ReviewsTest, AUserWithoutTheRightIsToldWhichOne) {
  const auto bob = visitor("bobs");
  ASSERT_FALSE(bob);
  EXPECT_EQ(bob.error().code, Code::kPermissionDenied);
  EXPECT_THAT(bob.error().message, HasSubstr("bob may not get nodes.cardcage.dev 'n1'"));
}

TEST_F(ReviewsTest, AnUnknownTokenIsRefused) {
  const auto stranger = visitor("guessed");
  ASSERT_FALSE(stranger);
  EXPECT_EQ(stranger.error().code, Code::kUnauthenticated);
  EXPECT_THAT(stranger.error().message, HasSubstr("sign in with a new one"));
  EXPECT_EQ(count("subjectaccessreviews"), 0u);
}

TEST_F(ReviewsTest, EmptyAndGiantTokensAreRefusedWithoutACall) {
  EXPECT_EQ(code_of(""), Code::kUnauthenticated);
  EXPECT_EQ(code_of(std::string(1 << 20, 'x')), Code::kUnauthenticated);
  EXPECT_TRUE(api.requests().empty());
}

TEST_F(ReviewsTest, ADecisionCountsForAMinute) {
  ASSERT_TRUE(visitor("alices"));
  api.expire_token("alices");
  clock.advance(59s);
  EXPECT_TRUE(visitor("alices"));
  EXPECT_EQ(count("tokenreviews"), 1u);
  clock.advance(1s);
  EXPECT_EQ(code_of("alices"), Code::kUnauthenticated) << "an expired token";
}

TEST_F(ReviewsTest, ARefusalCountsForTenSeconds) {
  EXPECT_EQ(code_of("bobs"), Code::kPermissionDenied);
  api.allow("bob", "get", kNode);
  clock.advance(9s);
  EXPECT_EQ(code_of("bobs"), Code::kPermissionDenied);
  clock.advance(1s);
  EXPECT_EQ(code_of("bobs"), Code::kOk);
}

TEST_F(ReviewsTest, NoOneGetsInWhileTheApiServerIsAway) {
  api.go_down();
  const auto alice = visitor("alices");
  ASSERT_FALSE(alice);
  EXPECT_EQ(alice.error().code, Code::kUnavailable);
  EXPECT_THAT(alice.error().message, HasSubstr("cannot check who you are"));
  api.come_up();
  EXPECT_EQ(code_of("alices"), Code::kOk) << "the failure is not remembered";
}

TEST_F(ReviewsTest, AFailedCheckOfRightsIsARefusal) {
  api.inject({.status = 500, .target = "subjectaccessreviews", .times = 1000});
  EXPECT_EQ(code_of("alices"), Code::kUnavailable);
}

TEST_F(ReviewsTest, AMissingRoleOfTheServerIsNamed) {
  api.inject({.status = 403, .target = "tokenreviews"});
  const auto alice = visitor("alices");
  ASSERT_FALSE(alice);
  EXPECT_EQ(alice.error().code, Code::kUnavailable) << "alice's rights are not known";
  EXPECT_THAT(alice.error().message, HasSubstr("system:auth-delegator"));
}

TEST_F(ReviewsTest, ABrokenReviewIsARefusal) {
  api.inject({.kind = Fault::Kind::kTruncate, .target = "tokenreviews"});
  EXPECT_NE(code_of("alices"), Code::kOk);
}

TEST_F(ReviewsTest, RequestsWithOneTokenShareOneReview) {
  std::array<std::optional<Result<Visitor>>, 20> ended;
  for (auto& one : ended) spawn(core, ask(*reviews, "alices", one));
  ASSERT_TRUE(finishes([&] { return std::ranges::all_of(ended, &std::optional<Result<Visitor>>::has_value); }));
  for (const auto& one : ended) EXPECT_TRUE(one->has_value());
  EXPECT_EQ(count("tokenreviews"), 1u);
}

TEST_F(ReviewsTest, AFloodOfTokensIsBounded) {
  api.inject({.kind = Fault::Kind::kDelay, .target = "tokenreviews", .times = 1000});
  std::vector<std::optional<Result<Visitor>>> ended(200);
  for (std::size_t i = 0; i < ended.size(); ++i) spawn(core, ask(*reviews, fmt::format("guess {}", i), ended[i]));
  ASSERT_TRUE(finishes([&] { return std::ranges::all_of(ended, &std::optional<Result<Visitor>>::has_value); }));
  std::map<Code, int> codes;
  for (const auto& one : ended) ++codes[one->has_value() ? Code::kOk : one->error().code];
  EXPECT_EQ(codes[Code::kOk], 0);
  EXPECT_GE(codes[Code::kResourceExhausted], 100);
  EXPECT_LE(count("tokenreviews"), 100u);
}

}  // namespace
}  // namespace cardcage
