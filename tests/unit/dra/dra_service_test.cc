#include "host/dra/dra_service.h"

#include "tests/unit/dra/driver_harness.h"
#include "tests/unit/dra/prepared_devices.h"

namespace cardcage {
namespace {

using std::chrono::milliseconds, std::chrono::seconds;
using ::testing::_;
using ::testing::HasSubstr;

using V1Answer = api::dra_v1::NodePrepareResourcesResponse;

// Blocks calls until open().
class Gate {
 public:
  explicit Gate(LiveCore& live) : state_(std::make_shared<State>(live)) {}
  void open() const {
    state_->live.call([&] {
      state_->open = true;
      state_->timer.cancel();
    });
  }
  Task<Result<Devices>> pass(Result<Devices> value) const { return wait(state_, std::move(value)); }

 private:
  struct State {
    explicit State(LiveCore& core) : live(core), timer(core.context(), Instant::max()) {}
    LiveCore& live;
    asio::steady_timer timer;
    bool open = false;
  };
  static Task<Result<Devices>> wait(std::shared_ptr<State> state, Result<Devices> value) {
    boost::system::error_code ignored;
    if (!state->open) co_await state->timer.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
    co_return value;
  }
  std::shared_ptr<State> state_;
};

api::dra_v1::NodePrepareResourcesRequest request_for(const std::vector<std::string>& uids) {
  api::dra_v1::NodePrepareResourcesRequest request;
  for (const auto& uid : uids) {
    auto& claim = *request.add_claims();
    claim.set_namespace_("default");
    claim.set_name("claim-" + uid);
    claim.set_uid(uid);
  }
  return request;
}

// Both versions have the same wire format, so one request serves both.
template <class To, class From>
To as(const From& from) {
  To to;
  EXPECT_TRUE(to.ParseFromString(from.SerializeAsString()));
  return to;
}

class DraServiceTest : public DriverHarness {
 protected:
  void SetUp() override {
    start();
    clients = std::make_unique<DriverClients>(service_socket());
    ON_CALL(claims, prepare).WillByDefault([](ClaimRef claim, Instant) {
      return completed(Devices{{{"req"}, "pool", "gpu-" + claim.uid, {"v/c=" + claim.uid}, ""}});
    });
  }
  void limit(milliseconds prepare) {
    stop();
    auto wanted = options();
    wanted.limits.prepare = prepare;
    start(std::move(wanted));
    clients = std::make_unique<DriverClients>(service_socket());
  }
  grpc::Status prepare(const std::vector<std::string>& uids, V1Answer& response, milliseconds within = seconds(5)) {
    return clients->dra_v1->NodePrepareResources(context(within).get(), request_for(uids), &response);
  }
  // Starts a prepare call that runs while the test continues.
  std::future<grpc::Status> prepare_later(const std::vector<std::string>& uids, V1Answer& response) {
    return std::async(std::launch::async, [this, uids, &response] { return prepare(uids, response); });
  }

  std::unique_ptr<DriverClients> clients;
  Gate gate{live};
};

TEST_F(DraServiceTest, RespondsToAnEmptyRequestWhileTheCoreIsBusy) {
  V1Answer response;
  ASSERT_TRUE(prepare({}, response).ok());  // connects
  std::promise<void> release;
  asio::post(live.context(), [released = release.get_future().share()] { released.wait(); });
  EXPECT_TRUE(prepare({}, response).ok());
  api::dra_v1beta1::NodeUnprepareResourcesResponse unprepared;
  EXPECT_TRUE(clients->dra_v1beta1->NodeUnprepareResources(context().get(), {}, &unprepared).ok());
  release.set_value();
}

TEST_F(DraServiceTest, ServesBothVersionsAndOnlyV1HasTheShareId) {
  EXPECT_CALL(claims, prepare(ClaimRef{"default", "claim-a", "a"}, _)).Times(2).WillRepeatedly([](ClaimRef, Instant) {
    return completed(Devices{{{"main", "other"}, "node-1", "gpu-0", {"v/c=a-gpu-0", "v/c=a"}, "share-1"}});
  });
  V1Answer v1;
  ASSERT_TRUE(prepare({"a"}, v1).ok());
  api::dra_v1beta1::NodePrepareResourcesResponse v1beta1;
  const auto request = as<api::dra_v1beta1::NodePrepareResourcesRequest>(request_for({"a"}));
  ASSERT_TRUE(clients->dra_v1beta1->NodePrepareResources(context().get(), request, &v1beta1).ok());

  EXPECT_EQ(v1.ShortDebugString(),
            "claims { key: \"a\" value { devices { request_names: \"main\" request_names: \"other\" pool_name: "
            "\"node-1\" device_name: \"gpu-0\" cdi_device_ids: \"v/c=a-gpu-0\" cdi_device_ids: \"v/c=a\" share_id: "
            "\"share-1\" } } }");
  auto without_share = v1;
  without_share.mutable_claims()->at("a").mutable_devices(0)->clear_share_id();
  EXPECT_EQ(as<V1Answer>(v1beta1).ShortDebugString(), without_share.ShortDebugString());
}

TEST_F(DraServiceTest, UnprepareNamesEveryClaimInBothVersions) {
  ON_CALL(claims, unprepare).WillByDefault([](ClaimRef claim, Instant) -> Task<Status> {
    if (claim.uid == "bad") co_return fail(Code::kUnavailable, "claim 'default/claim-bad': module 'm' is gone");
    co_return Status{};
  });
  const auto request = request_for({"good", "bad"});
  api::dra_v1::NodeUnprepareResourcesResponse v1;
  ASSERT_TRUE(
      clients->dra_v1
          ->NodeUnprepareResources(context().get(), as<api::dra_v1::NodeUnprepareResourcesRequest>(request), &v1)
          .ok());
  api::dra_v1beta1::NodeUnprepareResourcesResponse v1beta1;
  ASSERT_TRUE(clients->dra_v1beta1
                  ->NodeUnprepareResources(context().get(),
                                           as<api::dra_v1beta1::NodeUnprepareResourcesRequest>(request), &v1beta1)
                  .ok());
  ASSERT_EQ(v1.claims_size(), 2);
  EXPECT_EQ(v1.claims().at("good").error(), "");
  EXPECT_EQ(v1.claims().at("bad").error(), "claim 'default/claim-bad': module 'm' is gone");
  EXPECT_EQ(v1beta1.SerializeAsString().size(), v1.SerializeAsString().size());
}

TEST_F(DraServiceTest, AFailedOrMalformedClaimDoesNotAffectTheOthers) {
  EXPECT_CALL(claims, prepare(ClaimRef{"default", "claim-good", "good"}, _)).Times(1);
  EXPECT_CALL(claims, prepare(ClaimRef{"default", "claim-bad", "bad"}, _)).WillOnce([](ClaimRef, Instant) {
    return completed(fail(Code::kInternal, "{}", ""));
  });
  auto request = request_for({"good", "bad", "good", "nameless"});
  request.mutable_claims(3)->clear_name();
  V1Answer response;
  ASSERT_TRUE(clients->dra_v1->NodePrepareResources(context().get(), request, &response).ok());
  ASSERT_EQ(response.claims_size(), 3);
  EXPECT_EQ(response.claims().at("good").devices(0).device_name(), "gpu-good");
  EXPECT_EQ(response.claims().at("bad").error(), to_string(Code::kInternal)) << "an empty error would be success";
  EXPECT_EQ(response.claims().at("nameless").error(), "claim 'default/' has no name");
}

TEST_F(DraServiceTest, CutsErrorsToWhatAnEventHolds) {
  ON_CALL(claims, prepare).WillByDefault([](ClaimRef, Instant) {
    return completed(fail(Code::kInternal, "{}\xFF", std::string(5000, 'x')));
  });
  V1Answer response;
  ASSERT_TRUE(prepare({"a"}, response).ok());
  EXPECT_EQ(response.claims().at("a").error(), std::string(1021, 'x') + "...");
}

TEST_F(DraServiceTest, BoundsRequests) {
  EXPECT_CALL(claims, prepare).Times(0);
  std::vector<std::string> many;
  for (int i = 0; i < 1025; ++i) many.push_back("u" + std::to_string(i));
  V1Answer response;
  const auto refused = prepare(many, response);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(refused.error_message(), "the request names 1025 claims, the limit is 1024");
  const auto too_large = prepare({std::string(2 * 1024 * 1024, 'u')}, response);
  EXPECT_EQ(too_large.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  ASSERT_TRUE(prepare({std::string(1000, 'u')}, response).ok());
  EXPECT_THAT(response.claims().begin()->second.error(), HasSubstr("of a claim has 1006 bytes"));
}

TEST_F(DraServiceTest, ResponsesStayBelowTheKubeletsFourMebibytes) {
  ON_CALL(claims, prepare).WillByDefault([](ClaimRef claim, Instant) {
    const std::size_t size = claim.uid == "large" ? 3'000'000 : 1'000'000;
    return completed(Devices{{{"req"}, "pool", "gpu", {std::string(size, 'c')}, ""}});
  });
  V1Answer response;
  ASSERT_TRUE(prepare({"large", "a", "b", "c"}, response).ok());
  EXPECT_EQ(response.claims().at("large").devices_size(), 1);
  EXPECT_EQ(response.claims().at("a").devices_size(), 1);
  for (const char* uid : {"b", "c"}) {
    EXPECT_EQ(response.claims().at(uid).devices_size(), 0);
    EXPECT_THAT(response.claims().at(uid).error(), HasSubstr("does not fit into the 4 MiB"));
  }
  EXPECT_LT(response.ByteSizeLong(), 4u * 1024 * 1024);
}

TEST_F(DraServiceTest, ServesSixtyFourClaimsInOneCall) {
  std::vector<std::string> uids;
  for (int i = 0; i < 64; ++i) uids.push_back("u" + std::to_string(i));
  V1Answer response;
  ASSERT_TRUE(prepare(uids, response).ok());
  for (const auto& uid : uids) EXPECT_EQ(response.claims().at(uid).devices(0).device_name(), "gpu-" + uid);
}

TEST_F(DraServiceTest, ServesManyCallsAtOnce) {
  constexpr int kCalls = 32;
  std::vector<V1Answer> responses(kCalls);
  std::vector<std::future<grpc::Status>> calls;
  ON_CALL(claims, prepare).WillByDefault([this](ClaimRef claim, Instant) {
    return gate.pass(Devices{{{"req"}, "pool", "gpu-" + claim.uid, {}, ""}});
  });
  for (int i = 0; i < kCalls; ++i) calls.push_back(prepare_later({std::to_string(i)}, responses[i]));
  EXPECT_TRUE(eventually([&] { return status().open_calls == kCalls; }));
  gate.open();
  for (int i = 0; i < kCalls; ++i) {
    EXPECT_TRUE(calls[i].get().ok());
    EXPECT_EQ(responses[i].claims_size(), 1);
  }
  EXPECT_TRUE(eventually([&] { return status().open_calls == 0; }));
}

TEST_F(DraServiceTest, PassesItsLimitOnAsTheDeadline) {
  limit(milliseconds(700));
  Instant deadline;
  EXPECT_CALL(claims, prepare(_, _)).WillOnce([&](ClaimRef, Instant until) {
    deadline = until;
    return completed(Devices{});
  });
  const Instant begun = clock.now();
  V1Answer response;
  ASSERT_TRUE(prepare({"a"}, response).ok());
  EXPECT_GE(deadline, begun + milliseconds(700));
  EXPECT_LE(deadline, clock.now() + milliseconds(700));
}

TEST_F(DraServiceTest, LeavesTimeToRespondBeforeTheCallerGivesUp) {
  Duration left{};
  ON_CALL(claims, prepare).WillByDefault([&](ClaimRef, Instant deadline) {
    left = deadline - clock.now();
    return completed(Devices{});
  });
  V1Answer response;
  EXPECT_TRUE(prepare({"a"}, response, seconds(4)).ok());
  EXPECT_GT(left, seconds(2));
  EXPECT_LE(left, milliseconds(3600 + 10)) << "gRPC sends a timeout of seconds in steps of 10 ms, rounded up";
}

TEST_F(DraServiceTest, ForgetsACallThatTheCallerCancelled) {
  ON_CALL(claims, prepare).WillByDefault([this](ClaimRef, Instant) { return gate.pass(Devices{}); });
  V1Answer response;
  const auto calling = context();
  auto call = std::async(std::launch::async, [&] {
    return clients->dra_v1->NodePrepareResources(calling.get(), request_for({"a"}), &response);
  });
  ASSERT_TRUE(eventually([&] { return status().open_calls == 1; }));
  calling->TryCancel();
  EXPECT_EQ(call.get().error_code(), grpc::StatusCode::CANCELLED);
  EXPECT_TRUE(eventually([&] { return status().open_calls == 0; }));
  gate.open();  // the work ends later, without effect
}

TEST_F(DraServiceTest, ShutdownWaitsForOpenCalls) {
  ON_CALL(claims, prepare).WillByDefault([this](ClaimRef, Instant) { return gate.pass(Devices{}); });
  V1Answer response;
  auto call = prepare_later({"a"}, response);
  ASSERT_TRUE(eventually([&] { return status().open_calls == 1; }));
  auto stopping = std::async(std::launch::async, [&] { stop_and_destroy(server, seconds(5)); });
  EXPECT_TRUE(eventually([&] { return !std::filesystem::exists(service_socket()); }));
  V1Answer refused;
  EXPECT_EQ(prepare({}, refused).error_message(), "cardcage is shutting down") << "on the existing connection";
  gate.open();
  EXPECT_TRUE(call.get().ok());
  EXPECT_EQ(response.claims_size(), 1);
  stopping.get();
}

TEST_F(DraServiceTest, ShutdownEndsCallsThatHangWithinItsBudget) {
  ON_CALL(claims, prepare).WillByDefault([this](ClaimRef, Instant) { return gate.pass(Devices{}); });
  V1Answer response;
  auto call = prepare_later({"a"}, response);
  ASSERT_TRUE(eventually([&] { return status().open_calls == 1; }));
  const Instant begin = std::chrono::steady_clock::now();
  stop(milliseconds(200));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, milliseconds(700));
  const auto ended = call.get();
  EXPECT_EQ(ended.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(ended.error_message(), "cardcage is shutting down");
}

}  // namespace
}  // namespace cardcage
