#include "host/plugin/device_plugin_service.h"

#include "tests/unit/plugin/resource_harness.h"

namespace cardcage {
namespace {

namespace plugin = api::device_plugin;
using std::chrono::milliseconds, std::chrono::seconds;
using ::testing::_;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class DevicePluginServiceTest : public ResourceHarness {
 protected:
  void SetUp() override {
    list({{"a", true, {}}, {"b", true, {}}, {"c", true, {}}, {"d", false, {}}});
    serve(options());
  }
  void serve(ResourceServerOptions wanted) {
    stop();
    start(std::move(wanted));
    channel = grpc::CreateChannel("unix:" + socket().native(), grpc::InsecureChannelCredentials());
    stub = plugin::DevicePlugin::NewStub(channel);
  }
  static plugin::AllocateRequest allocation(const std::vector<Ids>& containers) {
    plugin::AllocateRequest request;
    for (const Ids& ids : containers) {
      auto& container = *request.add_container_requests();
      for (const std::string& id : ids) container.add_devices_ids(id);
    }
    return request;
  }
  grpc::Status allocate(const std::vector<Ids>& containers, plugin::AllocateResponse& response) {
    return stub->Allocate(context(seconds(30)).get(), allocation(containers), &response);
  }
  grpc::Status allocate(const std::vector<Ids>& containers) {
    plugin::AllocateResponse response;
    return allocate(containers, response);
  }
  Ids preferred(const Ids& available, const Ids& required, int size) {
    plugin::PreferredAllocationRequest request;
    auto& container = *request.add_container_requests();
    for (const std::string& id : available) container.add_available_deviceids(id);
    for (const std::string& id : required) container.add_must_include_deviceids(id);
    container.set_allocation_size(size);
    plugin::PreferredAllocationResponse response;
    const auto status = stub->GetPreferredAllocation(context().get(), request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    EXPECT_EQ(response.container_responses_size(), 1);
    if (response.container_responses().empty()) return {};
    const auto& ids = response.container_responses(0).deviceids();
    return {ids.begin(), ids.end()};
  }
  grpc::Status pre_start(const Ids& ids) {
    plugin::PreStartContainerRequest request;
    for (const std::string& id : ids) request.add_devices_ids(id);
    plugin::PreStartContainerResponse response;
    return stub->PreStartContainer(context().get(), request, &response);
  }

  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<plugin::DevicePlugin::Stub> stub;
};

TEST_F(DevicePluginServiceTest, ReportsItsCurrentTraits) {
  plugin::DevicePluginOptions told;
  ASSERT_TRUE(stub->GetDevicePluginOptions(context().get(), {}, &told).ok());
  EXPECT_FALSE(told.pre_start_required());
  EXPECT_TRUE(told.get_preferred_allocation_available());
  live.call([&] { traits.pre_start = true; });
  ASSERT_TRUE(stub->GetDevicePluginOptions(context().get(), {}, &told).ok());
  EXPECT_TRUE(told.pre_start_required());
}

TEST_F(DevicePluginServiceTest, RespondsForEachContainerInTheOrderOfTheRequest) {
  plugin::AllocateResponse response;
  ASSERT_TRUE(allocate({{"a", "b"}, {"c"}}, response).ok());
  EXPECT_EQ(response.ShortDebugString(),
            "container_responses { cdi_devices { name: \"example.com/gpu=a\" } cdi_devices { name: "
            "\"example.com/gpu=b\" } } container_responses { cdi_devices { name: \"example.com/gpu=c\" } }");
}

TEST_F(DevicePluginServiceTest, PassesOnEverythingThatAContainerGets) {
  EXPECT_CALL(allocations, allocate(Ids{"a"}, _)).WillOnce([](const Ids&, Instant) {
    ContainerGrant grant;
    grant.annotations["cdi.k8s.io/cardcage"] = "example.com/gpu=a";
    grant.edits.env.push_back({"GPU", "0"});
    grant.edits.device_nodes.push_back({.path = "/dev/gpu0", .host_path = "/dev/dri/card7", .permissions = "rwm"});
    grant.edits.device_nodes.push_back({.path = "/dev/gpuctl"});
    grant.edits.mounts.push_back({"/usr/lib/gpu", "/opt/gpu", "", {"nosuid", "ro"}});
    grant.edits.mounts.push_back({"/run/gpu", "/run/gpu", "", {"rw"}});
    return ready(Result<ContainerGrant>(std::move(grant)));
  });
  plugin::AllocateResponse response;
  ASSERT_TRUE(allocate({{"a"}}, response).ok());
  EXPECT_EQ(response.ShortDebugString(),
            "container_responses { envs { key: \"GPU\" value: \"0\" } "
            "mounts { container_path: \"/opt/gpu\" host_path: \"/usr/lib/gpu\" read_only: true } "
            "mounts { container_path: \"/run/gpu\" host_path: \"/run/gpu\" } "
            "devices { container_path: \"/dev/gpu0\" host_path: \"/dev/dri/card7\" permissions: \"rwm\" } "
            "devices { container_path: \"/dev/gpuctl\" host_path: \"/dev/gpuctl\" permissions: \"rw\" } "
            "annotations { key: \"cdi.k8s.io/cardcage\" value: \"example.com/gpu=a\" } }");
}

TEST_F(DevicePluginServiceTest, RefusesRequestsThatNameNothingOrTooMuch) {
  EXPECT_CALL(allocations, allocate).Times(0);
  const auto none = allocate({});
  EXPECT_EQ(none.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(none.error_message(), "resource 'example.com/gpu': the request names no container");
  const auto no_device = allocate({{"a"}, {}});
  EXPECT_EQ(no_device.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(no_device.error_message(), HasSubstr("names no device"));
  const auto twice = allocate({{"a", "b", "a"}});
  EXPECT_EQ(twice.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(twice.error_message(), HasSubstr("names device 'a' twice"));
  EXPECT_EQ(allocate({{""}}).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(allocate(std::vector<Ids>(65, Ids{"a"})).error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(allocate({Ids(4097, "a")}).error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
}

TEST_F(DevicePluginServiceTest, TheErrorOfOneContainerIsTheErrorOfTheCall) {
  ON_CALL(allocations, allocate).WillByDefault([](const Ids& ids, Instant) {
    return ready(ids[0] == "a" ? Result<ContainerGrant>(ContainerGrant{})
                               : fail(Code::kNotFound, "device '{}' is not there", ids[0]));
  });
  const auto status = allocate({{"a"}, {"x"}});
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(status.error_message(), "device 'x' is not there");
}

TEST_F(DevicePluginServiceTest, TheSameDeviceMayBeAllocatedAgain) {
  EXPECT_CALL(allocations, allocate(Ids{"a"}, _)).Times(2);
  EXPECT_TRUE(allocate({{"a"}}).ok());
  EXPECT_TRUE(allocate({{"a"}}).ok());
}

TEST_F(DevicePluginServiceTest, PassesItsLimitOnAsTheDeadline) {
  Instant deadline;
  EXPECT_CALL(allocations, pre_start(Ids{"a", "b"}, _)).WillOnce([&](const Ids&, Instant until) {
    deadline = until;
    return ready(Status{});
  });
  auto unhurried = options();
  unhurried.limits.pre_start = seconds(3);
  serve(unhurried);
  const Instant begin = clock.now();
  EXPECT_TRUE(pre_start({"a", "b"}).ok());
  EXPECT_GE(deadline, begin + seconds(3));
  EXPECT_LE(deadline, clock.now() + seconds(3));
}

TEST_F(DevicePluginServiceTest, PreStartFailsWithTheErrorOfTheModule) {
  ON_CALL(allocations, pre_start).WillByDefault([](const Ids&, Instant) {
    return ready(Status(fail(Code::kUnavailable, "the scrub failed")));
  });
  const auto status = pre_start({"a"});
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(status.error_message(), "the scrub failed");
  EXPECT_EQ(pre_start({}).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(DevicePluginServiceTest, PrefersTheChoiceOfTheService) {
  EXPECT_CALL(allocations, preferred).WillOnce([](const PreferenceQuery& query, Instant) {
    EXPECT_THAT(query.available, ElementsAre("a", "b", "c"));
    EXPECT_THAT(query.required, ElementsAre("b"));
    EXPECT_EQ(query.wanted, 2u);
    return ready(Ids{"b", "c"});
  });
  EXPECT_THAT(preferred({"a", "b", "c"}, {"b"}, 2), ElementsAre("b", "c"));
}

TEST_F(DevicePluginServiceTest, APreferenceIsNeverAnError) {
  EXPECT_THAT(preferred({"a", "b"}, {}, 0), IsEmpty());
  EXPECT_THAT(preferred({"a", "b"}, {}, -3), IsEmpty());
  EXPECT_THAT(preferred({"a", "b"}, {}, 7), ElementsAre("a", "b"));
  EXPECT_THAT(preferred({"x", "a", "a", "y", "b"}, {"z", "b", "b"}, 2), ElementsAre("b", "a"));
  EXPECT_THAT(preferred({}, {}, 1), IsEmpty());
  plugin::PreferredAllocationResponse response;
  EXPECT_TRUE(stub->GetPreferredAllocation(context().get(), {}, &response).ok());
  plugin::PreferredAllocationRequest many;
  for (int i = 0; i < 100; ++i) many.add_container_requests()->add_available_deviceids("a");
  ASSERT_TRUE(stub->GetPreferredAllocation(context().get(), many, &response).ok());
  EXPECT_EQ(response.container_responses_size(), 100);
}

TEST_F(DevicePluginServiceTest, AcceptsAPreferenceRequestForALargeResource) {
  const auto all = devices_of(20'000);
  list(all);
  Ids ids;
  for (const auto& device : all) ids.push_back(device.id + std::string(50, 'x'));
  EXPECT_THAT(preferred(ids, ids, 4), IsEmpty()) << "2.5 MB of unknown ids";
}

TEST_F(DevicePluginServiceTest, ForgetsACallThatTheKubeletGaveUp) {
  ON_CALL(allocations, allocate).WillByDefault([](const Ids&, Instant) { return stuck<Result<ContainerGrant>>(); });
  const auto leaving = context();
  auto answer = std::async(std::launch::async, [&] {
    plugin::AllocateResponse response;
    return stub->Allocate(leaving.get(), allocation({{"a"}}), &response);
  });
  ASSERT_TRUE(eventually([&] { return status().open_calls == 1; }));
  leaving->TryCancel();
  EXPECT_EQ(answer.get().error_code(), grpc::StatusCode::CANCELLED);
  EXPECT_TRUE(eventually([&] { return status().open_calls == 0; }));
}

TEST_F(DevicePluginServiceTest, ShutdownEndsCallsThatHangWithinItsBudget) {
  std::promise<void> entered;
  ON_CALL(allocations, allocate).WillByDefault([&](const Ids&, Instant) {
    entered.set_value();
    return stuck<Result<ContainerGrant>>();
  });
  auto answer = std::async(std::launch::async, [&] { return allocate({{"a"}}); });
  entered.get_future().wait();
  const Instant begin = std::chrono::steady_clock::now();
  stop(milliseconds(300));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, milliseconds(800));
  const auto status = answer.get();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_THAT(status.error_message(), HasSubstr("cardcage is shutting down"));
}

}  // namespace
}  // namespace cardcage
