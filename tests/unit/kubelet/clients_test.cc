#include "host/kubelet/clients.h"

#include <barrier>

#include "host/rpc/client_slot.h"
#include "host/rpc/status.h"
#include "tests/unit/dra/driver_harness.h"

namespace cardcage {
namespace {

constexpr int kThreads = 16;

class ClientsTest : public DriverHarness {
 protected:
  static grpc::Status ask(const DriverClients& clients, bool wait_for_ready = false) {
    const auto asking = context();
    asking->set_wait_for_ready(wait_for_ready);
    api::registration::PluginInfo info;
    return clients.registration->GetInfo(asking.get(), {}, &info);
  }
  // Reads the first message of a health stream, then closes it.
  template <class Stub, class Request, class Message>
  static grpc::Status peek(Stub& stub, const Request& request, Message message) {
    const auto watching = context();
    const auto stream = stub.NodeWatchResources(watching.get(), request);
    const bool read = stream->Read(&message);
    watching->TryCancel();
    const auto status = stream->Finish();
    return read ? grpc::Status::OK : status;
  }
  static void call_everything(const DriverClients& clients) {
    EXPECT_TRUE(ask(clients).ok());
    api::dra_v1::NodePrepareResourcesResponse v1;
    EXPECT_TRUE(clients.dra_v1->NodePrepareResources(context().get(), {}, &v1).ok());
    api::dra_v1beta1::NodePrepareResourcesResponse v1beta1;
    EXPECT_TRUE(clients.dra_v1beta1->NodePrepareResources(context().get(), {}, &v1beta1).ok());
    EXPECT_TRUE(peek(*clients.health_v1, api::health_v1::NodeWatchResourcesRequest(),
                     api::health_v1::NodeWatchResourcesResponse())
                    .ok());
    EXPECT_TRUE(peek(*clients.health_v1alpha1, api::health_v1alpha1::NodeWatchResourcesRequest(),
                     api::health_v1alpha1::NodeWatchResourcesResponse())
                    .ok());
  }
  static void on_many_threads(const std::function<void(int)>& work) {
    std::barrier together(kThreads);
    std::vector<std::jthread> threads;
    for (int i = 0; i < kThreads; ++i)
      threads.emplace_back([&, i] {
        together.arrive_and_wait();
        work(i);
      });
  }
};

TEST_F(ClientsTest, ThreadsThatReplaceABrokenSetMakeOneNewSetWithOneConnection) {
  start();
  ClientSlot<DriverClients> slot(service_socket());
  std::vector<std::shared_ptr<const DriverClients>> seen(kThreads);
  on_many_threads([&](int i) {
    const auto broken = slot.current();
    ASSERT_TRUE(ask(*broken).ok());
    seen[static_cast<std::size_t>(i)] = broken;
  });
  EXPECT_TRUE(std::ranges::all_of(seen, [&](const auto& set) { return set == seen[0]; }));
  EXPECT_EQ(connections_to(service_socket()), 1);

  const auto broken = slot.current();
  on_many_threads([&](int i) {
    const auto fresh = slot.replace(broken);
    ASSERT_TRUE(ask(*fresh).ok());
    seen[static_cast<std::size_t>(i)] = fresh;
  });
  EXPECT_NE(seen[0], broken);
  EXPECT_TRUE(std::ranges::all_of(seen, [&](const auto& set) { return set == seen[0]; }));
  EXPECT_EQ(connections_to(service_socket()), 2) << "the old set's and the new set's";
}

TEST_F(ClientsTest, AfterAReconnectHealthAndClaimsShareTheNewConnection) {
  start();
  ClientSlot<DriverClients> slot(service_socket());
  auto broken = slot.current();
  {  // a call holds its channel, which reconnects by itself
    const auto watching = context();
    const auto stream = broken->health_v1->NodeWatchResources(watching.get(), {});
    api::health_v1::NodeWatchResourcesResponse message;
    ASSERT_TRUE(stream->Read(&message));
    stop();
    EXPECT_FALSE(stream->Read(&message));
    EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
  }
  EXPECT_FALSE(ask(*broken).ok());

  start();
  call_everything(*slot.replace(broken));
  broken.reset();
  EXPECT_TRUE(eventually([&] { return connections_to(service_socket()) == 1; }));
}

TEST_F(ClientsTest, EveryStubExistsBeforeThePeerDoes) {
  const ClientSlot<DriverClients> slot(service_socket());
  const auto clients = slot.current();
  EXPECT_EQ(ask(*clients).error_code(), grpc::StatusCode::UNAVAILABLE);
  api::dra_v1::NodePrepareResourcesResponse prepared;
  EXPECT_EQ(clients->dra_v1->NodePrepareResources(context().get(), {}, &prepared).error_code(),
            grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(peek(*clients->health_v1, api::health_v1::NodeWatchResourcesRequest(),
                 api::health_v1::NodeWatchResourcesResponse())
                .error_code(),
            grpc::StatusCode::UNAVAILABLE);
  start();
  EXPECT_TRUE(ask(*clients, true).ok());
  call_everything(*clients);
}

TEST_F(ClientsTest, EveryStubExistsWithoutAKubelet) {
  const ClientSlot<KubeletClients> slot(KubeletSockets::below(root.path(), root / "device-plugins"));
  const auto clients = slot.current();
  api::device_plugin::Empty registered;
  EXPECT_EQ(clients->registration->Register(context().get(), {}, &registered).error_code(),
            grpc::StatusCode::UNAVAILABLE);
  api::pod_resources::ListPodResourcesResponse resources;
  EXPECT_EQ(clients->pod_resources->List(context().get(), {}, &resources).error_code(), grpc::StatusCode::UNAVAILABLE);
  api::pods::ListPodsResponse pods;
  EXPECT_EQ(clients->pods->ListPods(context().get(), {}, &pods).error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST_F(ClientsTest, ManyReconnectsLeaveOneConnection) {
  start();
  const auto open_files = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), std::filesystem::directory_iterator());
  };
  ClientSlot<DriverClients> slot(service_socket());
  ASSERT_TRUE(ask(*slot.current()).ok());
  const auto before = open_files();
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(ask(*slot.replace(slot.current())).ok());
  EXPECT_TRUE(eventually([&] { return connections_to(service_socket()) == 1; })) << connections_to(service_socket());
  EXPECT_TRUE(eventually([&] { return open_files() <= before + 1; })) << open_files() << " after " << before;
}

TEST(KubeletSocketsTest, AreWhereTheKubeletPutsThem) {
  const auto sockets = KubeletSockets::below("/k0s/kubelet");
  EXPECT_EQ(sockets.device_plugins, "/var/lib/kubelet/device-plugins/kubelet.sock") << "it ignores --root-dir";
  EXPECT_EQ(sockets.pod_resources, "/k0s/kubelet/pod-resources/kubelet.sock");
  EXPECT_EQ(sockets.pods, "/k0s/kubelet/pods-api/pods-api.sock");
}

TEST(ToStatusTest, KeepsCodeAndText) {
  EXPECT_TRUE(to_status(grpc::Status::OK));
  EXPECT_EQ(to_status({grpc::StatusCode::UNAVAILABLE, "no {} here"}).error(),
            (Error{Code::kUnavailable, "no {} here"}));
}

}  // namespace
}  // namespace cardcage
