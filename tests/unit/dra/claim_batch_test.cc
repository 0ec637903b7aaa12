#include "host/dra/claim_batch.h"

#include <gmock/gmock.h>

#include "tests/fakes/core_fixture.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/mock_claim_service.h"
#include "tests/unit/dra/prepared_devices.h"

namespace cardcage {
namespace {

using std::chrono::seconds;
using ::testing::_;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::NiceMock;

ClaimRef ref(const std::string& uid) { return {"default", "claim-" + uid, uid}; }
Devices device(const std::string& name) { return {{{"req"}, "pool", name, {"v/c=" + name}, ""}}; }

Task<Result<Devices>> after(Clock& clock, Duration delay, Result<Devices> value) {
  co_await clock.sleep_for(delay);
  co_return value;
}

class ClaimBatchTest : public CoreFixture {
 protected:
  // Starts the claims; `done` gets the results when all claims have one.
  void begin(const std::vector<std::string>& uids, ClaimOperation operation = ClaimOperation::kPrepare) {
    std::vector<ClaimRef> refs;
    for (const auto& uid : uids) refs.push_back(ref(uid));
    spawn(core, [](Task<ClaimBatch> running, std::optional<ClaimBatch>& end) -> Task<void> {
      end = co_await std::move(running);
    }(run_claims(core, claims, operation, check_claims(std::move(refs)), deadline), done));
    settle();
  }

  FakeClock clock;
  const Instant deadline = clock.now() + seconds(40);
  NiceMock<MockClaimService> claims;
  std::optional<ClaimBatch> done;
};

TEST_F(ClaimBatchTest, ChecksAndDedupesTheClaimsOfARequest) {
  const auto entries = check_claims({ref("a"),
                                     ref("a"),
                                     {"", "c", "b"},
                                     {"default", "", "c"},
                                     {"default", "c", ""},
                                     {"default", "c", "../../etc"},
                                     {"default", std::string(254, 'x'), "d"}});
  ASSERT_EQ(entries.size(), 6u);
  EXPECT_FALSE(entries[0].result);
  const auto error = [&](std::size_t index) { return entries[index].result->error().message; };
  EXPECT_EQ(error(1), "claim '/c' has no namespace");
  EXPECT_EQ(error(2), "claim 'default/' has no name");
  EXPECT_EQ(error(3), "claim 'default/c' has no uid");
  EXPECT_EQ(error(4), "uid '../../etc' of a claim is not a Kubernetes name");
  EXPECT_EQ(error(5), "name of a claim has 254 bytes and Kubernetes allows 253");
}

TEST_F(ClaimBatchTest, RefusesOneUidForTwoClaims) {
  const auto entries = check_claims({{"default", "one", "a"}, {"default", "two", "a"}});
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_EQ(entries[0].result->error().message,
            "uid 'a' is named twice, as claim 'default/one' and claim 'default/two'");
}

TEST_F(ClaimBatchTest, RunsClaimsSideBySideUnderOneDeadline) {
  EXPECT_CALL(claims, prepare(_, deadline)).Times(3).WillRepeatedly([this](ClaimRef claim, Instant) {
    return after(clock, seconds(5), device(claim.uid));
  });
  begin({"a", "b", "c"});
  EXPECT_FALSE(done);
  clock.advance(seconds(5));
  settle();
  ASSERT_TRUE(done);
  for (const auto& entry : *done) EXPECT_EQ(*entry.result, device(entry.ref.uid));
}

TEST_F(ClaimBatchTest, OneFailureDoesNotTouchTheOthers) {
  EXPECT_CALL(claims, prepare(Field(&ClaimRef::uid, "a"), _)).WillOnce([](ClaimRef, Instant) {
    return completed(fail(Code::kNotFound, "claim 'default/claim-a': device 'gpu-0' is gone"));
  });
  EXPECT_CALL(claims, prepare(Field(&ClaimRef::uid, "b"), _)).WillOnce([](ClaimRef, Instant) {
    return completed(device("gpu-1"));
  });
  begin({"a", "b"});
  ASSERT_TRUE(done);
  EXPECT_EQ(done->at(0).result->error().message, "claim 'default/claim-a': device 'gpu-0' is gone");
  EXPECT_EQ(*done->at(1).result, device("gpu-1"));
}

TEST_F(ClaimBatchTest, MalformedClaimsAreNotRun) {
  EXPECT_CALL(claims, prepare).Times(0);
  begin({"../../etc"});
  ASSERT_TRUE(done);
  EXPECT_EQ(done->at(0).result->error().code, Code::kInvalidArgument);
}

TEST_F(ClaimBatchTest, UnpreparesLikewise) {
  EXPECT_CALL(claims, unprepare(Field(&ClaimRef::uid, "a"), _)).WillOnce([](ClaimRef, Instant) -> Task<Status> {
    co_return Status{};
  });
  EXPECT_CALL(claims, unprepare(Field(&ClaimRef::uid, "b"), _)).WillOnce([](ClaimRef, Instant) -> Task<Status> {
    co_return fail(Code::kUnavailable, "module 'nvidia' is restarting");
  });
  begin({"a", "b"}, ClaimOperation::kUnprepare);
  ASSERT_TRUE(done);
  EXPECT_EQ(*done->at(0).result, Devices{});
  EXPECT_THAT(done->at(1).result->error().message, HasSubstr("is restarting"));
}

}  // namespace
}  // namespace cardcage
