// The health of devices in the admin API.
#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>

#include <limits>

#include "cardcage/admin.grpc.pb.h"
#include "tests/fakes/admin_fixture.h"

namespace cardcage {
namespace {

namespace wire = admin::v1;
using namespace std::chrono_literals;

class AdminHealthTest : public AdminFixture {
 protected:
  void SetUp() override {
    daemon = FakeDaemon::sick_node();
    start();
  }
  template <class Request, class Response>
  grpc::Status call(grpc::Status (wire::Admin::Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                    const Request& request, Response& response) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    const auto stub = wire::Admin::NewStub(
        grpc::CreateCustomChannel("unix:" + socket.native(), grpc::InsecureChannelCredentials(), arguments));
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + 5s);
    return (stub.get()->*method)(&context, request, &response);
  }
};

TEST_F(AdminHealthTest, ADeviceHasItsCausesAndItsCordon) {
  wire::ListDevicesResponse list;
  ASSERT_TRUE(call(&wire::Admin::Stub::ListDevices, {}, list).ok());
  ASSERT_EQ(list.devices_size(), 5);
  const wire::Device& cordoned = list.devices(0);
  EXPECT_EQ(cordoned.health().state(), "healthy");
  EXPECT_EQ(cordoned.cordon().by(), "alice");
  EXPECT_EQ(cordoned.cordon().reason(), "loose cable");
  EXPECT_EQ(cordoned.cordon().since().seconds(), 1'800'000'000LL - 3 * 3600);
  const wire::Device& gpu = list.devices(1);
  EXPECT_FALSE(gpu.has_cordon());
  EXPECT_EQ(gpu.health().state(), "unhealthy");
  EXPECT_TRUE(gpu.health().causes(0).quarantined());
  EXPECT_FALSE(gpu.health().causes(1).quarantined());
  EXPECT_EQ(gpu.health().causes(0).of_parent(), "");
  EXPECT_FALSE(gpu.health().causes(0).has_value());
  EXPECT_EQ(list.devices(2).health().causes(0).of_parent(), "GPU-1");
  const wire::Device& hot = list.devices(3);
  EXPECT_EQ(hot.health().state(), "degraded");
  EXPECT_EQ(hot.health().level(), "in progress");
  EXPECT_EQ(hot.health().causes(0).value(), 91.5);
}

TEST_F(AdminHealthTest, ListsTheRulesOfAllModulesOrOfOne) {
  wire::ListHealthRulesRequest request;
  wire::ListHealthRulesResponse list;
  ASSERT_TRUE(call(&wire::Admin::Stub::ListHealthRules, request, list).ok());
  ASSERT_EQ(list.modules_size(), 2);
  EXPECT_THAT(list.modules(1).refused(), ::testing::StartsWith("cardcage.toml:31:3: "));
  ASSERT_EQ(list.modules(0).rules_size(), 5);
  const wire::HealthRule& hot = list.modules(0).rules(0);
  EXPECT_EQ(hot.cause(), "Thermal");
  EXPECT_EQ(hot.unit(), "Cel");
  EXPECT_EQ(hot.limit().side(), "above");
  EXPECT_EQ(hot.limit().limit(), 90.5);
  EXPECT_EQ(hot.limit().clear(), 85);
  EXPECT_EQ(hot.severity(), "degraded");
  EXPECT_EQ(hot.hold_down_seconds(), 10);
  EXPECT_EQ(hot.recovery(), "report");
  EXPECT_EQ(hot.recovery_seconds(), 30);
  EXPECT_EQ(hot.taint().effect(), "Inform");
  EXPECT_EQ(hot.taint().key(), "mock.cardcage.dev/hot");
  EXPECT_EQ(hot.kubelet(), "unhealthy");
  EXPECT_EQ(hot.origin(), "cardcage.toml:12:3");
  const wire::HealthRule& xid = list.modules(0).rules(1);
  EXPECT_FALSE(xid.has_limit());
  EXPECT_EQ(xid.severity(), "") << "as stated";
  EXPECT_FALSE(xid.has_taint());
  EXPECT_EQ(xid.default_taint().effect(), "NoSchedule");
  EXPECT_EQ(xid.kubelet(), "");
  EXPECT_EQ(xid.relapses(), 3u);
  EXPECT_EQ(xid.window_seconds(), 3600);
  EXPECT_EQ(xid.resets_per_day(), 2u);
  EXPECT_EQ(list.modules(0).rules(2).limit().side(), "below");
  EXPECT_EQ(list.modules(0).rules(3).taint().effect(), "none") << "a rule can suppress a stated taint";
  request.set_module("nic");
  ASSERT_TRUE(call(&wire::Admin::Stub::ListHealthRules, request, list).ok());
  EXPECT_EQ(list.modules_size(), 1);
  request.set_module("nci");
  const auto unknown = call(&wire::Admin::Stub::ListHealthRules, request, list);
  EXPECT_EQ(unknown.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(unknown.error_message(), "no module 'nci'");
}

TEST_F(AdminHealthTest, ListsTheHistoryOfADevice) {
  wire::ListHealthEventsRequest request;
  request.set_device("GPU-1");
  request.set_module("mock");
  request.set_since(5'000);
  wire::ListHealthEventsResponse history;
  ASSERT_TRUE(call(&wire::Admin::Stub::ListHealthEvents, request, history).ok());
  ASSERT_EQ(history.events_size(), 6);
  const wire::HealthEvent& newest = history.events(0);
  EXPECT_EQ(newest.kind(), "quarantined");
  EXPECT_EQ(newest.device_id(), "GPU-1");
  EXPECT_EQ(newest.cause(), "Xid");
  EXPECT_EQ(newest.state(), "unhealthy");
  EXPECT_EQ(newest.time().seconds(), 1'800'000'000LL - 600);
  EXPECT_EQ(history.events(2).kind(), "reset failed");
  EXPECT_EQ(history.events(2).by(), "remedy");
  EXPECT_EQ(history.events(2).state(), "") << "it is about the device";
  stop();
  EXPECT_EQ(daemon.last_health_query.device, "GPU-1");
  EXPECT_EQ(daemon.last_health_query.module, "mock");
  EXPECT_EQ(daemon.last_health_query.since, WallTime(5s));
  EXPECT_EQ(daemon.last_health_query.limit, 100);
}

TEST_F(AdminHealthTest, NumbersInAQueryAreBounded) {
  wire::ListHealthEventsRequest request;
  request.set_limit(4'000'000'000u);
  request.set_since(std::numeric_limits<std::int64_t>::max());
  wire::ListHealthEventsResponse history;
  ASSERT_TRUE(call(&wire::Admin::Stub::ListHealthEvents, request, history).ok());
  stop();
  EXPECT_EQ(daemon.last_health_query.limit, 10'000);
  EXPECT_GT(daemon.last_health_query.since, std::chrono::system_clock::now());
}

TEST_F(AdminHealthTest, CommandsForADeviceReachTheDaemon) {
  wire::DeviceCommandRequest request;
  request.set_device("gpu-0");
  request.set_module("mock");
  request.set_cause("Xid");
  request.set_by("alice");
  request.set_reason("loose\ncable");
  wire::DeviceCommandResponse response;
  const auto send = [&](auto method) {
    const auto result = call(method, request, response);
    EXPECT_TRUE(result.ok()) << result.error_message();
    return daemon.last_device_command();
  };
  EXPECT_EQ(send(&wire::Admin::Stub::CordonDevice).verb, DeviceVerb::kCordon);
  EXPECT_EQ(response.done(), "device 'gpu-0' is cordoned");
  EXPECT_EQ(send(&wire::Admin::Stub::UncordonDevice).verb, DeviceVerb::kUncordon);
  EXPECT_EQ(send(&wire::Admin::Stub::ClearCause).verb, DeviceVerb::kClear);
  DeviceCommand got = send(&wire::Admin::Stub::ResetDevice);
  EXPECT_EQ(got.verb, DeviceVerb::kReset);
  EXPECT_EQ(got.device, "gpu-0");
  EXPECT_EQ(got.module, "mock");
  EXPECT_EQ(got.cause, "Xid");
  EXPECT_EQ(got.by, "alice");
  EXPECT_EQ(got.reason, "loose?cable") << "one line";
  EXPECT_EQ(got.limit, 30s);
  EXPECT_FALSE(got.force);
  request.set_force(true);
  request.set_by("");
  request.set_reason(std::string(100'000, 'x'));
  request.set_limit_ms(1'000'000'000'000'000);
  got = send(&wire::Admin::Stub::ResetDevice);
  EXPECT_TRUE(got.force);
  EXPECT_EQ(got.by, "an operator");
  EXPECT_LE(got.reason.size(), 1024u) << "it is kept with the device";
  EXPECT_EQ(got.limit, 10min) << "no command waits forever";
}

}  // namespace
}  // namespace cardcage
