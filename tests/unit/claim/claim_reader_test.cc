#include "host/claim/claim_reader.h"

#include <gmock/gmock.h>

#include "tests/fakes/core_fixture.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/fake_cluster.h"

namespace cardcage {
namespace {

using namespace std::chrono_literals;
using Verb = FakeCluster::Verb;

// Pod "p1" arrives on the node with claim "c1", which has the UID "u1" and device "gpu-0".
class ClaimReaderTest : public CoreFixture {
 protected:
  ClaimReaderTest() { put("gpu-0", {"p1"}); }

  void put(const std::string& device, std::vector<std::string> pods, const std::string& uid = "u1") {
    Claim claim{.ref = {"ml", "c1", uid}, .allocated = true};
    claim.allocations.push_back({.request = "main", .driver = "d", .pool = "node", .device = device});
    claim.reserved_for = std::move(pods);
    cluster.put_claim(claim);
  }
  void expect(std::vector<std::string> claims = {"c1"}, const std::string& pod = "p1") {
    reader.expect({pod, "ml", pod, std::move(claims), 0});
  }
  Result<Claim> read(const std::string& uid = "u1") { return run(reader.read({"ml", "c1", uid}, clock.now() + 40s)); }
  std::string device(const std::string& uid = "u1") {
    const auto claim = read(uid);
    return claim ? claim->allocations.at(0).device : claim.error().message;
  }
  // Reads "c1" while the test continues. `into` outlives the read.
  void begin_reading(std::optional<Result<Claim>>& into) {
    spawn(core, [](ClaimReader& r, Instant by, std::optional<Result<Claim>>& c) -> Task<void> {
      const ClaimRef ref{"ml", "c1", "u1"};
      c = co_await r.read(ref, by);
    }(reader, clock.now() + 40s, into));
  }
  std::size_t gets() const { return cluster.count(Verb::kGetClaim); }

  FakeClock clock;
  FakeCluster cluster{core, clock};
  bool has_pod = true;
  std::vector<std::string> asked;  // UIDs of pods
  ClaimReader reader{core, clock, cluster, [this](std::string uid, Instant) -> Task<bool> {
                       asked.push_back(std::move(uid));
                       co_return has_pod;
                     }};
};

TEST_F(ClaimReaderTest, AClaimOfAComingPodIsThereBeforeItIsAskedFor) {
  expect();
  settle();
  EXPECT_EQ(gets(), 1u);
  EXPECT_EQ(device(), "gpu-0");
  EXPECT_EQ(gets(), 1u);
  EXPECT_THAT(asked, ::testing::ElementsAre("p1"));
  EXPECT_EQ(reader.early(), 1u);
  EXPECT_EQ(reader.late(), 0u);
}

TEST_F(ClaimReaderTest, AReaderJoinsAGetThatIsUnderWay) {
  cluster.pause();
  expect();
  settle();
  std::optional<Result<Claim>> claim;
  begin_reading(claim);
  settle();
  EXPECT_FALSE(claim);
  cluster.resume();
  settle();
  ASSERT_TRUE(claim && *claim);
  EXPECT_EQ(gets(), 1u);
}

TEST_F(ClaimReaderTest, WithoutAComingPodEachReadIsAGet) {
  EXPECT_EQ(device(), "gpu-0");
  EXPECT_EQ(device(), "gpu-0");
  EXPECT_EQ(gets(), 2u);
  EXPECT_TRUE(asked.empty());
  EXPECT_EQ(reader.late(), 2u);
}

TEST_F(ClaimReaderTest, APodThatTellsOftenIsReadOnce) {
  for (int i = 0; i < 5; ++i) expect();
  settle();
  EXPECT_EQ(gets(), 1u);
}

// The pod was deleted by force before it was prepared, its claim was given to another pod, and the stream lags behind.
TEST_F(ClaimReaderTest, AClaimThatWasAllocatedAnewIsReadAgain) {
  expect();
  settle();
  put("gpu-7", {"p2"});
  has_pod = false;
  EXPECT_EQ(device(), "gpu-7");
  has_pod = true;
  put("gpu-8", {"p3"});
  EXPECT_EQ(device(), "gpu-8") << "the early read is forgotten";
}

TEST_F(ClaimReaderTest, AClaimThatWasRecreatedIsReadAgain) {
  expect();
  settle();
  put("gpu-7", {"p2"}, "u2");
  EXPECT_EQ(device("u2"), "gpu-7");
  EXPECT_TRUE(asked.empty());
}

TEST_F(ClaimReaderTest, AClaimThatMayStillChangeIsReadAgain) {
  put("gpu-0", {});
  expect();
  settle();
  put("gpu-1", {"p1"});
  EXPECT_EQ(device(), "gpu-1") << "it was not reserved yet";
  reader.forget("p1");
  put("gpu-1", {"another"});
  expect();
  settle();
  put("gpu-2", {"p1"});
  EXPECT_EQ(device(), "gpu-2") << "it was reserved for another pod";
  reader.forget("p1");
  cluster.put_claim({.ref = {"ml", "c1", "u1"}, .reserved_for = {"p1"}});
  expect();
  settle();
  put("gpu-3", {"p1"});
  EXPECT_EQ(device(), "gpu-3") << "it was not allocated yet";
}

TEST_F(ClaimReaderTest, AStreamThatNamesClaimsOfNobodyCostsNothingButAGet) {
  expect({"c1", "never-made"}, "p9");
  settle();
  EXPECT_EQ(device(), "gpu-0") << "the claim is not reserved for this pod";
  EXPECT_TRUE(asked.empty());
}

TEST_F(ClaimReaderTest, AFailureIsNotKept) {
  cluster.fail_next(Verb::kGetClaim, 1, {Code::kUnavailable, "no route to host"});
  expect();
  settle();
  EXPECT_EQ(device(), "gpu-0");
}

TEST_F(ClaimReaderTest, TheClaimsOfAPodGoWithIt) {
  expect();
  settle();
  reader.forget("p1");
  reader.forget("p1");
  put("gpu-7", {"p2"});
  EXPECT_EQ(device(), "gpu-7");
  EXPECT_TRUE(asked.empty());
}

TEST_F(ClaimReaderTest, AGetThatIsUnderWayWhenItsPodGoesHasNoEffect) {
  cluster.pause();
  expect();
  settle();
  reader.forget("p1");
  cluster.resume();
  settle();
  put("gpu-7", {"p2"});
  EXPECT_EQ(device(), "gpu-7");
}

TEST_F(ClaimReaderTest, TheNamesOfClaimsOfTemplatesComeFromThePod) {
  cluster.put_pod("ml", "p1", {"p1", {"c1"}});
  reader.expect({"p1", "ml", "p1", {}, 1});
  settle();
  EXPECT_EQ(cluster.count(Verb::kGetPod), 1u);
  EXPECT_EQ(device(), "gpu-0");
  EXPECT_EQ(gets(), 1u);
  EXPECT_EQ(reader.early(), 1u);
}

TEST_F(ClaimReaderTest, WithoutTheRightToReadPodsClaimsOfTemplatesAreReadWhenAskedFor) {
  cluster.fail_next(Verb::kGetPod, 1, {Code::kPermissionDenied, "forbidden"});
  for (int i = 0; i < 100; ++i) {
    const std::string pod = fmt::format("pod-{}", i);
    reader.expect({pod, "ml", pod, {}, 1});
    settle();
  }
  EXPECT_EQ(cluster.count(Verb::kGetPod), 1u);
  EXPECT_EQ(device(), "gpu-0");
  EXPECT_EQ(reader.late(), 1u);

  clock.advance(1min);
  put("gpu-0", {"p2"});
  cluster.put_pod("ml", "p2", {"p2", {"c1"}});
  reader.expect({"p2", "ml", "p2", {}, 1});
  settle();
  EXPECT_EQ(device(), "gpu-0");
  EXPECT_EQ(reader.early(), 1u) << "the right was granted meanwhile";
}

TEST_F(ClaimReaderTest, AnotherPodOfTheSameNameHasOtherClaims) {
  cluster.put_pod("ml", "p1", {"another", {"c1"}});
  reader.expect({"p1", "ml", "p1", {}, 1});
  settle();
  EXPECT_EQ(gets(), 0u);
}

TEST_F(ClaimReaderTest, PodsThatShareAClaimHaveItReadOnce) {
  put("gpu-0", {"p1", "p2"});
  expect();
  expect({"c1"}, "p2");
  settle();
  EXPECT_EQ(device(), "gpu-0");
  EXPECT_EQ(gets(), 1u);
  reader.forget("p1");
  EXPECT_EQ(device(), "gpu-0");
  EXPECT_EQ(gets(), 2u) << "the early read was dropped with the first pod";
}

TEST_F(ClaimReaderTest, ManyPodsAtOnceDoNotFloodTheApiServer) {
  cluster.pause();
  for (int i = 0; i < 100; ++i) {
    const std::string pod = fmt::format("pod-{}", i);
    cluster.put_pod("ml", pod, {pod, {}});
    reader.expect({pod, "ml", pod, {}, 1});
  }
  settle();
  EXPECT_EQ(cluster.count(Verb::kGetPod), ClaimReader::kMaxUnderWay);
  expect({"c1"});
  std::optional<Result<Claim>> claim;
  begin_reading(claim);
  settle();
  EXPECT_EQ(gets(), 1u) << "a direct read does not queue";
  cluster.resume();
  settle();
  EXPECT_EQ(cluster.count(Verb::kGetPod), 100u);
  EXPECT_TRUE(claim && *claim);
}

TEST_F(ClaimReaderTest, AClaimThatWasAskedForBeforeItsTurnIsReadOnce) {
  cluster.pause();
  for (std::size_t i = 0; i < ClaimReader::kMaxUnderWay; ++i)
    expect({fmt::format("other-{}", i)}, fmt::format("pod-{}", i));
  expect();
  settle();
  EXPECT_EQ(gets(), ClaimReader::kMaxUnderWay) << "the claims of a pod count until they are read";
  std::optional<Result<Claim>> claim;
  begin_reading(claim);
  settle();
  cluster.resume();
  settle();
  EXPECT_TRUE(claim && *claim);
  EXPECT_EQ(gets(), ClaimReader::kMaxUnderWay + 1);
}

TEST_F(ClaimReaderTest, APodThatComesWhileItsClaimIsReadCostsNoOtherGet) {
  cluster.pause();
  std::optional<Result<Claim>> claim;
  begin_reading(claim);
  settle();
  expect();
  settle();
  EXPECT_EQ(gets(), 1u);
  cluster.resume();
  settle();
  EXPECT_TRUE(claim && *claim);
  EXPECT_EQ(gets(), 1u);
}

TEST_F(ClaimReaderTest, APodThatComesAfterItsClaimWasReadCostsNoOtherGet) {
  EXPECT_EQ(device(), "gpu-0");
  expect();
  settle();
  EXPECT_EQ(gets(), 1u);
  put("gpu-1", {"p2"});
  expect({"c1"}, "p2");
  settle();
  EXPECT_EQ(gets(), 2u) << "the claim went to another pod";
  EXPECT_EQ(device(), "gpu-1");
  EXPECT_EQ(gets(), 2u);
}

TEST_F(ClaimReaderTest, APodWhoseClaimsOfTemplatesWereReadIsNotRead) {
  cluster.put_pod("ml", "p1", {"p1", {"c1"}});
  EXPECT_EQ(device(), "gpu-0");
  reader.expect({"p1", "ml", "p1", {}, 1});
  settle();
  EXPECT_EQ(cluster.count(Verb::kGetPod), 0u);
  EXPECT_EQ(gets(), 1u);
}

TEST_F(ClaimReaderTest, TheOtherClaimsOfAPodAreStillReadEarly) {
  Claim other{.ref = {"ml", "c2", "u2"}, .allocated = true};
  other.reserved_for = {"p1"};
  cluster.put_claim(other);
  cluster.put_pod("ml", "p1", {"p1", {"c1", "c2"}});
  EXPECT_EQ(device(), "gpu-0");
  reader.expect({"p1", "ml", "p1", {}, 2});
  settle();
  EXPECT_EQ(cluster.count(Verb::kGetPod), 1u);
  EXPECT_EQ(gets(), 2u);
  EXPECT_TRUE(run(reader.read({"ml", "c2", "u2"}, clock.now() + 40s)));
  EXPECT_EQ(gets(), 2u);
  EXPECT_EQ(reader.early(), 1u);
}

TEST_F(ClaimReaderTest, AClaimThatCouldNotBeReadIsReadEarly) {
  cluster.fail_next(Verb::kGetClaim, 1, {Code::kUnavailable, "no route to host"});
  EXPECT_EQ(device(), "no route to host");
  expect();
  settle();
  EXPECT_EQ(gets(), 2u);
  EXPECT_EQ(device(), "gpu-0");
  EXPECT_EQ(gets(), 2u);
}

TEST_F(ClaimReaderTest, InABurstOfPodsEachClaimIsReadOnce) {
  constexpr std::size_t kPods = 100;
  std::vector<std::optional<Result<Claim>>> claims(kPods);
  for (std::size_t i = 0; i < kPods; ++i) {
    const std::string number = std::to_string(i);
    Claim claim{.ref = {"ml", "c" + number, "u" + number}, .allocated = true};
    claim.reserved_for = {"p" + number};
    cluster.put_claim(claim);
  }
  const auto turn = [&] {
    core.restart();
    core.poll_one();
  };
  const auto come = [&](std::size_t i) {
    expect({fmt::format("c{}", i)}, fmt::format("p{}", i));
    turn();
  };
  const auto prepare = [&](std::size_t i) {
    spawn(core, [](ClaimReader& r, std::size_t n, Instant by, std::optional<Result<Claim>>& into) -> Task<void> {
      const ClaimRef ref{"ml", fmt::format("c{}", n), fmt::format("u{}", n)};
      into = co_await r.read(ref, by);
    }(reader, i, clock.now() + 40s, claims[i]));
    turn();
  };
  for (std::size_t i = 0; i < kPods; ++i) {
    if (i % 2 == 0) come(i);
    prepare(i);
    if (i >= 10 && (i - 10) % 2 == 1) come(i - 10);
  }
  settle();
  for (std::size_t i = kPods - 9; i < kPods; i += 2) come(i);
  settle();
  for (const auto& claim : claims) EXPECT_TRUE(claim && *claim);
  EXPECT_EQ(gets(), kPods);
}

TEST_F(ClaimReaderTest, TheClaimsThatWereReadAreForgottenWithTheirPodsAndBounded) {
  EXPECT_EQ(device(), "gpu-0");
  reader.forget("p1");
  expect();
  settle();
  EXPECT_EQ(gets(), 2u);
  reader.forget("p1");
  EXPECT_EQ(device(), "gpu-0");
  for (std::size_t i = 0; i < ClaimReader::kMaxServed; ++i) {
    put("gpu-0", {fmt::format("another-{}", i)});
    EXPECT_EQ(device(), "gpu-0");
  }
  const std::size_t before = gets();
  expect();
  settle();
  EXPECT_EQ(gets(), before + 1);
}

TEST_F(ClaimReaderTest, TheMemoryIsBounded) {
  for (std::size_t i = 0; i < ClaimReader::kMaxPods; ++i) expect({}, fmt::format("pod-{}", i));
  expect();
  settle();
  EXPECT_EQ(gets(), 0u);
  reader.forget("pod-0");
  expect();
  settle();
  EXPECT_EQ(gets(), 1u);
}

}  // namespace
}  // namespace cardcage
