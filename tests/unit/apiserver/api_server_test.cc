#include <array>
#include <boost/asio/bind_cancellation_slot.hpp>

#include "tests/unit/apiserver/api_server_fixture.h"

namespace cardcage {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::SizeIs;
using ApiServerTest = ApiServerFixture;

TEST_F(ApiServerTest, ReadsAClaimAndANode) {
  const auto claim = get_claim();
  ASSERT_TRUE(claim) << claim.error().message;
  EXPECT_EQ(claim->ref, (ClaimRef{"ns", "c1", "u-1"}));
  EXPECT_THAT(claim->allocations, SizeIs(1));
  const auto node = run(api->get_node("n1", within_time(20s)));
  EXPECT_EQ(node, (ClusterNode{"node-uid", {"DRAOptionalNodeOperations"}, "containerd://2.2.9"}));
}

TEST_F(ApiServerTest, InvalidNamesNeverReachTheServer) {
  EXPECT_EQ(run(api->get_claim("ns", "c1/../../x", within_time(1s))).error().code, Code::kInvalidArgument);
  EXPECT_EQ(run(api->get_claim("n s", "c1", within_time(1s))).error().code, Code::kInvalidArgument);
  EXPECT_EQ(run(api->get_node("n1?watch=1", within_time(1s))).error().code, Code::kInvalidArgument);
  EXPECT_EQ(run(api->list_slices("d,x", "n1", within_time(1s))).error().code, Code::kInvalidArgument);
  EXPECT_TRUE(server.requests().empty());
}

TEST_F(ApiServerTest, AMissingClaimIsNotFoundInOneRequest) {
  ASSERT_TRUE(get_claim());
  const auto missing = run(api->get_claim("ns", "c9", within_time(20s)));
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Code::kNotFound);
  EXPECT_THAT(missing.error().message, AllOf(HasSubstr("get ResourceClaim 'ns/c9'"), HasSubstr("404")));
  EXPECT_EQ(count_requests("GET", "c9"), 1u);
  EXPECT_EQ(count_requests("GET", "/apis/resource.k8s.io"), 3u) << "one discovery, one GET for each claim";
}

TEST_F(ApiServerTest, AClaimWaitsForTheDiscoveryOfAnotherCallerUntilItsDeadline) {
  server.inject({.kind = Fault::Kind::kSilence, .target = "/apis/resource.k8s.io"});
  std::optional<Result<SliceList>> list;
  asio::cancellation_signal cancel;
  begin(api->list_slices("d.example.com", "n1", within_time(20s)), list, cancel.slot());
  run_until([&] { return count_requests("GET", "/apis/resource.k8s.io") == 1; });
  const Instant began = std::chrono::steady_clock::now();
  const auto claim = get_claim(100ms);
  EXPECT_LT(std::chrono::steady_clock::now() - began, 10s);
  ASSERT_FALSE(claim);
  EXPECT_EQ(claim.error().code, Code::kUnavailable);
  EXPECT_THAT(claim.error().message, HasSubstr("find the versions of resource.k8s.io: "));
  EXPECT_FALSE(list);
  cancel.emit(asio::cancellation_type::terminal);
  settle();
}

TEST_F(ApiServerTest, TakesTheNewestVersionServed) {
  server.serve_versions({"v1beta1", "v1beta2"});
  ASSERT_TRUE(get_claim());
  EXPECT_EQ(api->api_version(), ResourceApi::kV1beta2);
}

TEST_F(ApiServerTest, LooksAgainWhenItsVersionIsNoLongerServed) {
  ASSERT_TRUE(get_claim());
  EXPECT_EQ(api->api_version(), ResourceApi::kV1);
  server.serve_versions({"v1beta1"});  // the control plane was downgraded
  ASSERT_TRUE(get_claim());
  EXPECT_EQ(api->api_version(), ResourceApi::kV1beta1);
  const auto stored = create();
  ASSERT_TRUE(stored) << stored.error().message;
  EXPECT_EQ(stored->devices, slice().devices);
  EXPECT_TRUE(server.get(kSlices, stored->name)->at("spec").at("devices").at(0).as_object().contains("basic"));
}

TEST_F(ApiServerTest, AMissingApiGroupIsReported) {
  server.serve_versions({});
  const auto missing = get_claim();
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Code::kUnimplemented);
  EXPECT_THAT(missing.error().message, HasSubstr("Kubernetes 1.34"));
}

TEST_F(ApiServerTest, SlicesAreCreatedUpdatedListedAndDeleted) {
  const auto created = create();
  ASSERT_TRUE(created) << created.error().message;
  EXPECT_THAT(created->name, HasSubstr("00000-d-"));
  EXPECT_EQ(created->owner_node_uid, "node-uid");
  Slice changed = *created;
  changed.pool.generation = 2;
  const auto updated = update(changed);
  ASSERT_TRUE(updated) << updated.error().message;
  EXPECT_NE(updated->resource_version, created->resource_version);
  const auto listed = list();
  ASSERT_THAT(listed.slices, SizeIs(1));
  EXPECT_EQ(listed.slices[0].pool.generation, 2);
  EXPECT_FALSE(listed.resource_version.empty());
  EXPECT_TRUE(erase(*updated));
  EXPECT_TRUE(server.names(kSlices).empty());
  EXPECT_TRUE(erase(*updated)) << "it does not exist any more";
}

TEST_F(ApiServerTest, ConflictsHaveCodesOfTheirOwn) {
  const auto created = create();
  Slice stale = *created;
  ASSERT_TRUE(update(*created));
  const auto conflict = update(stale);
  ASSERT_FALSE(conflict);
  EXPECT_EQ(conflict.error().code, Code::kAborted);
  EXPECT_THAT(conflict.error().message, HasSubstr("the object has been modified"));
  EXPECT_EQ(erase(stale).error().code, Code::kAborted);
  Slice named = slice();
  named.name = created->name;
  EXPECT_EQ(create(named).error().code, Code::kAlreadyExists);
}

TEST_F(ApiServerTest, AFieldThatTheServerDropsIsMissingInTheResponse) {
  server.drop_field("consumesCounters");
  Slice partition = slice();
  partition.devices[0].consumes = {{"set", {{"memory", Quantity{1}}}}};
  const auto stored = create(partition);
  ASSERT_TRUE(stored) << stored.error().message;
  EXPECT_TRUE(stored->devices[0].consumes.empty());
}

TEST_F(ApiServerTest, OnlyTheFirstListComesFromTheCacheOfTheServer) {
  put_slices(60);
  EXPECT_THAT(list().slices, SizeIs(60));
  EXPECT_EQ(count_requests("GET", "resourceVersion=0"), 1u);
  EXPECT_EQ(count_requests("GET", "limit="), 0u) << "the cache ignores it";
  EXPECT_THAT(list().slices, SizeIs(60));
  EXPECT_EQ(count_requests("GET", "resourceVersion=0"), 1u);
}

TEST_F(ApiServerTest, PagesAreJoined) {
  put_slices(60);
  list();
  EXPECT_THAT(list().slices, SizeIs(60));
  EXPECT_EQ(count_requests("GET", "limit=50"), 2u);
}

TEST_F(ApiServerTest, EachPageHasItsTime) {
  put_slices(110);
  list();
  server.inject({.kind = Fault::Kind::kDelay, .target = "limit=", .times = 3});
  const auto listed = run(api->list_slices("d.example.com", "n1", within_time(150ms)));
  ASSERT_TRUE(listed) << listed.error().message;
  EXPECT_EQ(listed->slices.size(), 110u);
}

TEST_F(ApiServerTest, LargeListsAreReadInSmallerPages) {
  put_slices(60);
  server.inject({.kind = Fault::Kind::kHuge, .target = "resourceVersion=0"});
  server.inject({.kind = Fault::Kind::kHuge, .target = "limit=50"});
  EXPECT_THAT(list().slices, SizeIs(60));
  EXPECT_EQ(count_requests("GET", "limit=50"), 1u);
  EXPECT_EQ(count_requests("GET", "limit=12"), 5u);
  server.inject({.kind = Fault::Kind::kHuge, .target = "limit=", .times = 4});
  const auto refused = run(api->list_slices("d.example.com", "n1", within_time(20s)));
  ASSERT_FALSE(refused) << "a single slice that is too large";
  EXPECT_THAT(refused.error().message, HasSubstr("larger than"));
}

TEST_F(ApiServerTest, PagesThatExpireAreListedOnceMore) {
  put_slices(60);
  list();
  server.inject({.status = 410, .target = "continue="});
  EXPECT_THAT(list().slices, SizeIs(60));
  server.inject({.status = 410, .target = "continue=", .times = 2});
  EXPECT_EQ(run(api->list_slices("d.example.com", "n1", within_time(20s))).error().code, Code::kOutOfRange);
}

TEST_F(ApiServerTest, PoolsOfAllNodesAreReadFromATable) {
  put_slices(2);
  const auto pools = run(api->list_pools("d.example.com", within_time(20s)));
  ASSERT_TRUE(pools) << pools.error().message;
  ASSERT_THAT(*pools, SizeIs(4));
  EXPECT_EQ(pools->at(1).node_name + " " + pools->at(1).pool, "n2 n1");
  EXPECT_EQ(server.requests().back().accept, "application/json;as=Table;v=v1;g=meta.k8s.io");
  EXPECT_THAT(run(api->list_pools("e.example.com", within_time(20s))).value(), SizeIs(0));
  EXPECT_EQ(run(api->list_pools("d,x", within_time(1s))).error().code, Code::kInvalidArgument);
}

TEST_F(ApiServerTest, RefusedCallsAreNotRetried) {
  ASSERT_TRUE(get_claim());
  const std::pair<unsigned, Code> expected[] = {{400, Code::kInvalidArgument},
                                                {403, Code::kPermissionDenied},
                                                {422, Code::kInvalidArgument},
                                                {410, Code::kOutOfRange}};
  for (const auto& [status, code] : expected) {
    const auto before = server.requests().size();
    server.inject({.status = status});
    const auto refused = get_claim();
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, code);
    EXPECT_THAT(refused.error().message, HasSubstr(fmt::format("API server responded {}: injected fault", status)));
    EXPECT_EQ(server.requests().size(), before + 1);
  }
}

TEST_F(ApiServerTest, ADenialByAdmissionIsNotAMissingRight) {
  for (const char* message : {"admission webhook \"w.example.com\" denied the request: no",
                              "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no"}) {
    server.inject({.status = 403, .method = "POST", .message = message});
    const Error denied = create().error();
    EXPECT_EQ(denied.code, Code::kInvalidArgument);
    EXPECT_THAT(denied.message, ::testing::EndsWith("request: no"));
  }
}

TEST_F(ApiServerTest, ServerErrorsAreRetried) {
  using enum Fault::Kind;
  for (const auto kind : {kStatus, kReset, kDelay}) {
    server.inject({.kind = kind, .status = 503, .target = "c1", .times = 3});
    const auto claim = get_claim();
    EXPECT_TRUE(claim) << claim.error().message;
  }
}

TEST_F(ApiServerTest, ARequestThatHangsTimesOutAndIsRetried) {
  connect(system_clock, 100ms);
  server.inject({.kind = Fault::Kind::kSilence, .target = "c1"});
  const auto claim = get_claim();
  EXPECT_TRUE(claim) << claim.error().message;
}

TEST_F(ApiServerTest, TheDeadlineEndsRetriesAndTheErrorSaysHowLongTheyTook) {
  ASSERT_TRUE(get_claim());
  server.go_down();
  const Instant start = std::chrono::steady_clock::now();
  const auto down = get_claim(200ms);
  ASSERT_FALSE(down);
  EXPECT_EQ(down.error().code, Code::kUnavailable);
  EXPECT_THAT(down.error().message,
              MatchesRegex("get ResourceClaim 'ns/c1': API server https://127.0.0.1:[0-9]+ unreachable: connection "
                           "refused; kept retrying for [0-9.]+ s"));
  EXPECT_LT(std::chrono::steady_clock::now() - start, 1s);
}

TEST_F(ApiServerTest, ACallWaitsForAServerThatIsDown) {
  ASSERT_TRUE(get_claim());
  server.go_down();
  asio::steady_timer later(core, 50ms);
  later.async_wait([&](const boost::system::error_code&) { server.come_up(); });
  const auto claim = get_claim();
  EXPECT_TRUE(claim) << claim.error().message;
}

TEST_F(ApiServerTest, ASilentServerIsUnavailable) {
  ASSERT_TRUE(get_claim());
  server.inject({.kind = Fault::Kind::kSilence, .times = 10});
  const auto silent = get_claim(100ms);
  ASSERT_FALSE(silent);
  EXPECT_EQ(silent.error().code, Code::kUnavailable);
  EXPECT_THAT(silent.error().message, HasSubstr("no response within"));
}

TEST_F(ApiServerTest, ACreateWhoseResponseIsLostMakesOneSlice) {
  ASSERT_TRUE(get_claim());
  server.inject({.kind = Fault::Kind::kActAndReset, .method = "POST"});
  const auto lost = create();  // libcurl repeats it, since the connection was reused
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code, Code::kAlreadyExists);
  EXPECT_THAT(server.names(kSlices), SizeIs(1));
}

TEST_F(ApiServerTest, ACreateIsNotRetried) {
  ASSERT_TRUE(get_claim());
  for (const unsigned status : {500u, 503u}) {
    server.inject({.status = status, .method = "POST"});
    EXPECT_EQ(create().error().code, Code::kUnavailable);
  }
  EXPECT_EQ(count_requests("POST", kSlices), 2u);
}

TEST_F(ApiServerTest, ADeleteWhoseResponseIsLostSucceeds) {
  const auto created = create();
  server.inject({.kind = Fault::Kind::kActAndReset, .method = "DELETE"});
  EXPECT_TRUE(erase(*created));
}

TEST_F(ApiServerTest, BadResponsesAreErrorsNotCrashes) {
  ASSERT_TRUE(get_claim());
  server.inject({.kind = Fault::Kind::kTruncate});
  EXPECT_THAT(get_claim().error().message, HasSubstr("is not JSON"));
  server.inject({.kind = Fault::Kind::kHuge});
  EXPECT_THAT(get_claim().error().message, HasSubstr("larger than"));
}

TEST_F(ApiServerTest, ARotatedTokenIsReadAndTheCallIsRetriedOnce) {
  ASSERT_TRUE(get_claim());
  server.require_token("t2");
  write("token", "t2");
  EXPECT_TRUE(get_claim()) << "without waiting for the next check of the file";
}

TEST_F(ApiServerTest, CallsThatAreRefusedTogetherAreAllRetriedWithTheRotatedToken) {
  ASSERT_TRUE(get_claim());
  server.require_token("t2");
  write("token", "t2");
  std::array<std::optional<Result<Claim>>, 3> claims;
  for (auto& claim : claims) begin(api->get_claim("ns", "c1", within_time(20s)), claim);
  run_until([&] { return std::ranges::all_of(claims, [](const auto& claim) { return claim.has_value(); }); });
  for (const auto& claim : claims) EXPECT_TRUE(*claim) << (*claim).error().message;
}

TEST_F(ApiServerTest, AnExpiredTokenNamesTheRemedy) {
  server.require_token("t2");
  const auto refused = get_claim();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kUnauthenticated);
  EXPECT_THAT(refused.error().message, AllOf(HasSubstr("401: Unauthorized"), HasSubstr((folder / "token").native())));
  EXPECT_EQ(server.requests().size(), 1u) << "the file is unchanged, so a retry cannot succeed";
}

TEST(ApiServerMakeTest, AMissingKubeconfigIsNamed) {
  asio::io_context core;
  SystemClock clock;
  const auto made = ApiServer::make(core, clock, {.kubeconfig = "/nonexistent/kubeconfig"});
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().message,
              AllOf(HasSubstr("API server: kubeconfig"), HasSubstr("cannot open '/nonexistent/kubeconfig'")));
}

}  // namespace
}  // namespace cardcage
