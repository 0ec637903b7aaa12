// A ResourceServer with real sockets on a live core, its allocations mocked and its clock stepped by hand.
#pragma once

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>

#include "host/plugin/resource_server.h"
#include "host/rpc/client_slot.h"
#include "tests/fakes/fake_device_manager.h"
#include "tests/fakes/mock_allocation_service.h"
#include "tests/unit/rpc/server_harness.h"

namespace cardcage {

constexpr const char* kResource = "example.com/gpu";

using Ids = std::vector<std::string>;

inline DeviceList devices_of(std::size_t count, bool healthy = true) {
  DeviceList list;
  for (std::size_t i = 0; i < count; ++i) list.push_back({fmt::format("gpu-{:05}", i), healthy, {}});
  return list;
}

template <class T>
Task<T> ready(T value) {
  co_return value;
}
// A call that never returns.
template <class T>
Task<T> stuck() {
  asio::steady_timer timer(co_await asio::this_coro::executor, Instant::max());
  co_await timer.async_wait(asio::use_awaitable);
  co_return T{};
}

class ResourceHarness : public ServerHarness<ResourceServer> {
 protected:
  ResourceHarness() : clients(KubeletSockets::below(root.path(), folder())) {
    ON_CALL(allocations, traits).WillByDefault([this] { return traits; });
    ON_CALL(allocations, allocate).WillByDefault([](const Ids& ids, Instant) {
      ContainerGrant grant;
      for (const std::string& id : ids) grant.cdi_devices.push_back("example.com/gpu=" + id);
      return ready(Result<ContainerGrant>(std::move(grant)));
    });
    ON_CALL(allocations, preferred).WillByDefault([](const PreferenceQuery& query, Instant) {
      return ready(Ids(query.available.rbegin(), query.available.rend()));
    });
    ON_CALL(allocations, pre_start).WillByDefault([](const Ids&, Instant) { return ready(Status{}); });
  }

  std::filesystem::path folder() const { return root / "device-plugins"; }
  std::filesystem::path registry() const { return root / "plugins_registry"; }
  std::filesystem::path registry_socket() const { return registry() / "cardcage-example.com_gpu-reg.sock"; }

  ResourceServerOptions options(RegistrationWay way = RegistrationWay::kKubelet,
                                const std::string& resource = kResource) const {
    return {.resource = resource,
            .kubelet_root = root.path(),
            .device_plugins_dir = folder(),
            .instance = "",
            .way = way,
            .limits = {}};
  }
  Result<std::unique_ptr<ResourceServer>> make(ResourceServerOptions wanted) {
    return live.call(
        [&] { return ResourceServer::start(live.context(), clock, allocations, board, clients, std::move(wanted)); });
  }
  void start(ResourceServerOptions wanted) { take(make(std::move(wanted))); }
  void start(RegistrationWay way = RegistrationWay::kKubelet) { start(options(way)); }
  RegistrationState state() { return status().registration.state; }
  // Whether the condition holds within `limit` seconds of the host's time.
  bool in_time(const std::function<bool()>& condition, int limit = 30) {
    for (int second = 0; second < limit; ++second) {
      if (eventually(condition, std::chrono::milliseconds(100))) return true;
      clock.advance(std::chrono::seconds(1));
    }
    return eventually(condition, std::chrono::milliseconds(100));
  }
  bool wait_registered() {
    return eventually([&] { return state() == RegistrationState::kRegistered; });
  }
  void list(DeviceList devices) {
    live.call([&] { board.set(std::move(devices)); });
  }
  // The socket on which the kubelet calls.
  std::filesystem::path socket() {
    EXPECT_TRUE(eventually([&] { return !status().socket.empty(); }));
    return status().socket;
  }
  // Whether the kubelet has the devices of list(devices_of(4)) again.
  static bool registered_again(FakeDeviceManager& kubelet, std::size_t times) {
    return kubelet.wait_for([&] { return kubelet.registrations(kResource) >= times; }) &&
           kubelet.wait_allocatable(kResource, 4);
  }
  // Starts after the first registration.
  void expect_new_traits_told(FakeDeviceManager& kubelet) {
    ASSERT_TRUE(registered_again(kubelet, 1));
    live.call([&] {
      traits.pre_start = true;
      server->reregister();
    });
    ASSERT_TRUE(registered_again(kubelet, 2));
    EXPECT_CALL(allocations, pre_start).Times(::testing::AtLeast(1));
    // Up to 1.36 the late end of the old stream may stop the new endpoint, too, and a pod that is admitted then fails.
    EXPECT_TRUE(kubelet.wait_for([&] {
      kubelet.remove_pod("pod-1");
      return kubelet.admit("pod-1", "main", kResource, 1) && kubelet.start_container("pod-1", "main", kResource);
    }));
  }

  ResourceTraits traits;
  ::testing::NiceMock<MockAllocationService> allocations;
  DeviceListBoard board;
  ClientSlot<KubeletClients> clients;
};

}  // namespace cardcage
