#include "host/dra/claim_batch.h"

#include <gmock/gmock.h>

#include "tests/fakes/core_fixture.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/mock_claim_service.h"

namespace cardcage {
namespace {

using std::chrono::seconds;
using ::testing::_;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::NiceMock;

using Devices = std::vector<PreparedDevice>;

ClaimRef ref(const std::string& uid) { return {"default", "claim-" + uid, uid}; }
Devices device(const std::string& name) { return {{{"req"}, "pool", name, {"v/c=" + name}, ""}}; }

Task<Result<Devices>> answer(Result<Devices> value) { co_return value; }
Task<Result<Devices>> after(Clock& clock, Duration delay, Result<Devices> value) {
  co_await clock.sleep_for(delay);
  co_return value;
}

class ClaimBatchTest : public CoreFixture {
 protected:
  std::shared_ptr<ClaimBatch> batch_of(const std::vector<std::string>& uids,
                                       ClaimOperation operation = ClaimOperation::kPrepare) {
    std::vector<ClaimRef> refs;
    for (const auto& uid : uids) refs.push_back(ref(uid));
    return std::make_shared<ClaimBatch>(core, operation, claim_entries(std::move(refs)));
  }
  // Starts the batch; `ended` tells when it has returned.
  void begin(const std::shared_ptr<ClaimBatch>& batch, Duration limit = seconds(40)) {
    spawn(core, [](auto b, ClaimService& s, Clock& c, Duration l, bool& done) -> Task<void> {
      co_await b->run(s, c, l);
      done = true;
    }(batch, claims, clock, limit, ended));
    settle();
  }

  FakeClock clock;
  NiceMock<MockClaimService> claims;
  bool ended = false;
};

TEST_F(ClaimBatchTest, ChecksAndDedupesWhatARequestNames) {
  const auto entries = claim_entries({ref("a"),
                                      ref("a"),
                                      {"", "c", "b"},
                                      {"default", "", "c"},
                                      {"default", "c", ""},
                                      {"default", "c", "../../etc"},
                                      {"default", std::string(254, 'x'), "d"}});
  ASSERT_EQ(entries.size(), 6u);
  EXPECT_FALSE(entries[0].answer);
  const auto error = [&](std::size_t index) { return entries[index].answer->error().message; };
  EXPECT_EQ(error(1), "claim '/c' has no namespace");
  EXPECT_EQ(error(2), "claim 'default/' has no name");
  EXPECT_EQ(error(3), "claim 'default/c' has no uid");
  EXPECT_EQ(error(4), "uid '../../etc' of a claim is not a Kubernetes name");
  EXPECT_EQ(error(5), "name of a claim has 254 bytes and Kubernetes allows 253");
}

TEST_F(ClaimBatchTest, RefusesOneUidForTwoClaims) {
  const auto entries = claim_entries({{"default", "one", "a"}, {"default", "two", "a"}});
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_EQ(entries[0].answer->error().message,
            "uid 'a' is named twice, as claim 'default/one' and claim 'default/two'");
}

TEST_F(ClaimBatchTest, RunsClaimsNextToEachOther) {
  EXPECT_CALL(claims, prepare(_, _)).Times(3).WillRepeatedly([this](ClaimRef claim, Instant) {
    return after(clock, seconds(5), device(claim.uid));
  });
  const auto batch = batch_of({"a", "b", "c"});
  begin(batch);
  EXPECT_FALSE(ended);
  clock.advance(seconds(5));
  settle();
  ASSERT_TRUE(ended);
  EXPECT_TRUE(batch->outcome());
  for (const auto& entry : batch->entries()) EXPECT_EQ(*entry.answer, device(entry.ref.uid));
}

TEST_F(ClaimBatchTest, OneFailureDoesNotTouchTheOthers) {
  EXPECT_CALL(claims, prepare(Field(&ClaimRef::uid, "a"), _)).WillOnce([](ClaimRef, Instant) {
    return answer(fail(Code::kNotFound, "claim 'default/claim-a': device 'gpu-0' is gone"));
  });
  EXPECT_CALL(claims, prepare(Field(&ClaimRef::uid, "b"), _)).WillOnce([](ClaimRef, Instant) {
    return answer(device("gpu-1"));
  });
  const auto batch = batch_of({"a", "b"});
  begin(batch);
  ASSERT_TRUE(ended);
  EXPECT_EQ(batch->entries()[0].answer->error().message, "claim 'default/claim-a': device 'gpu-0' is gone");
  EXPECT_EQ(*batch->entries()[1].answer, device("gpu-1"));
}

TEST_F(ClaimBatchTest, AnswersByItselfForAClaimThatHangsAndDropsTheLateAnswer) {
  EXPECT_CALL(claims, prepare(Field(&ClaimRef::uid, "hung"), clock.now() + seconds(40)))
      .WillOnce([this](ClaimRef, Instant) { return after(clock, seconds(60), device("late")); });
  EXPECT_CALL(claims, prepare(Field(&ClaimRef::uid, "good"), _)).WillOnce([](ClaimRef, Instant) {
    return answer(device("gpu-1"));
  });
  const auto batch = batch_of({"hung", "good"});
  begin(batch);
  clock.advance(seconds(39));
  settle();
  EXPECT_FALSE(ended);
  clock.advance(seconds(1));
  settle();
  ASSERT_TRUE(ended);
  ASSERT_FALSE(*batch->entries()[0].answer);
  EXPECT_EQ(batch->entries()[0].answer->error(),
            (Error{Code::kDeadlineExceeded,
                   "claim 'default/claim-hung': no answer within 40s; the work goes on and the "
                   "kubelet will ask again"}));
  EXPECT_EQ(*batch->entries()[1].answer, device("gpu-1"));
  clock.advance(seconds(20));
  settle();
  EXPECT_FALSE(*batch->entries()[0].answer);
}

TEST_F(ClaimBatchTest, AbortEndsItNowAndTheWorkGoesOn) {
  bool worked = false;
  EXPECT_CALL(claims, prepare(_, _)).WillOnce([&](ClaimRef, Instant) {
    return [](Clock& c, bool& done) -> Task<Result<Devices>> {
      co_await c.sleep_for(seconds(5));
      done = true;
      co_return Devices{};
    }(clock, worked);
  });
  const auto batch = batch_of({"a"});
  begin(batch);
  batch->abort({Code::kCancelled, "the caller gave up"});
  batch->abort({Code::kUnavailable, "too late"});
  settle();
  ASSERT_TRUE(ended);
  EXPECT_EQ(batch->outcome().error().code, Code::kCancelled);
  clock.advance(seconds(5));
  settle();
  EXPECT_TRUE(worked);
}

TEST_F(ClaimBatchTest, AnAbortBeforeTheStartCallsNobody) {
  EXPECT_CALL(claims, prepare).Times(0);
  const auto batch = batch_of({"a"});
  batch->abort({Code::kUnavailable, "shutting down"});
  begin(batch);
  EXPECT_TRUE(ended);
}

TEST_F(ClaimBatchTest, NoTimeLeftIsAnAnswerAtOnce) {
  EXPECT_CALL(claims, prepare(_, _)).WillOnce([this](ClaimRef, Instant) {
    return after(clock, seconds(1), device("x"));
  });
  const auto batch = batch_of({"a"});
  begin(batch, Duration::zero());
  ASSERT_TRUE(ended);
  EXPECT_EQ(batch->entries()[0].answer->error().code, Code::kDeadlineExceeded);
  clock.advance(seconds(1));
  settle();
}

TEST_F(ClaimBatchTest, UnpreparesLikewise) {
  EXPECT_CALL(claims, unprepare(Field(&ClaimRef::uid, "a"), _)).WillOnce([](ClaimRef, Instant) -> Task<Status> {
    co_return Status{};
  });
  EXPECT_CALL(claims, unprepare(Field(&ClaimRef::uid, "b"), _)).WillOnce([](ClaimRef, Instant) -> Task<Status> {
    co_return fail(Code::kUnavailable, "module 'nvidia' is restarting");
  });
  const auto batch = batch_of({"a", "b"}, ClaimOperation::kUnprepare);
  begin(batch);
  ASSERT_TRUE(ended);
  EXPECT_EQ(*batch->entries()[0].answer, Devices{});
  EXPECT_THAT(batch->entries()[1].answer->error().message, HasSubstr("is restarting"));
}

}  // namespace
}  // namespace cardcage
