// A kubelet as seen by device plugins: accepts their registrations, reads their device lists, allocates for pods.
//
// Models the device manager of kubelet 1.36 (pkg/kubelet/cm/devicemanager: manager.go, plugin/v1beta1/{server,handler,
// client}.go, pod_devices.go, checkpoint): it returns from Register after it has called the plugin back, runs one
// thread per ListAndWatch, replaces the devices of a resource with each message, and knows a client by its resource
// name. tests/cluster runs the daemon under real kubelets. All members may be called from any thread.
#pragma once

#include <grpcpp/server.h>

#include <condition_variable>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "host/core/result.h"
#include "host/kubelet/protocol.h"

namespace cardcage {

struct FakeDeviceManagerOptions {
  std::filesystem::path folder;  // device-plugins
  std::vector<std::string> versions{"v1beta1"};
  bool clients_by_name = true;              // as up to 1.36; by socket path since 1.37
  std::chrono::milliseconds disconnect{0};  // delay between the end of a stream and its handling
  std::chrono::milliseconds dial_limit{10'000};
};

class FakeDeviceManager {
 public:
  // Starts at once if `up`.
  explicit FakeDeviceManager(FakeDeviceManagerOptions options, bool up = true);
  ~FakeDeviceManager();

  // Removes all sockets in the folder and creates kubelet.sock, as the kubelet does when it starts. stop() closes every
  // connection and leaves the files.
  void start();
  void stop();
  void restart() {
    stop();
    start();
  }

  // How it handles Register from now on; accepts by default.
  struct Conduct {
    std::string refusal;   // fails with this text
    bool stall = false;    // does not return before the caller's deadline
    bool hang_up = false;  // accepts, and closes the stream after its first message
    bool deaf = false;     // accepts, and opens no stream
  };
  void behave(Conduct conduct);

  // The events in order: "example.com/gpu <endpoint>" for a registration, "refused example.com/gpu",
  // "list example.com/gpu 8", "-example.com/gpu" for the end of a stream.
  std::vector<std::string> history() const;
  std::size_t registrations(const std::string& resource) const;  // accepted ones
  std::size_t lists(const std::string& resource) const;          // messages received
  std::size_t attempts() const;                                  // calls of Register
  bool wait_for(const std::function<bool()>& condition, std::chrono::milliseconds limit = std::chrono::seconds(30));

  // The amounts in the node status; nullopt = the resource is unknown.
  struct Amounts {
    std::size_t capacity = 0, allocatable = 0;
    friend bool operator==(const Amounts&, const Amounts&) = default;
  };
  std::optional<Amounts> amounts(const std::string& resource) const;
  bool wait_allocatable(const std::string& resource, std::size_t count) {
    return wait_for([&] {
      const auto now = amounts(resource);
      return now && now->allocatable == count;
    });
  }
  // Returns as soon as a list has reported that health.
  bool wait_health(const std::string& resource, const std::string& device, bool healthy,
                   std::chrono::milliseconds limit = std::chrono::seconds(30));
  // The devices of the last list, by id.
  std::map<std::string, api::device_plugin::Device> devices(const std::string& resource) const;

  // Admits one container: chooses free healthy devices, those in `reusable` first, calls GetPreferredAllocation if the
  // plugin has it, then Allocate (the original sets no deadline for either). Keeps the response and writes the
  // checkpoint.
  struct Grant {
    std::vector<std::string> ids;
    api::device_plugin::ContainerAllocateResponse response;
  };
  Result<Grant> admit(const std::string& pod, const std::string& container, const std::string& resource,
                      std::size_t count, const std::vector<std::string>& reusable = {});
  // Starts the container, for the first time or again: calls PreStartContainer if the plugin requests it and returns
  // the kept response.
  Result<Grant> start_container(const std::string& pod, const std::string& container, const std::string& resource);
  void remove_pod(const std::string& pod);

  // Single calls.
  Result<std::vector<std::string>> preferred(const std::string& resource, const std::vector<std::string>& available,
                                             const std::vector<std::string>& required, int size);
  Result<Grant> allocate(const std::string& resource, const std::vector<std::string>& ids,
                         std::chrono::milliseconds limit = std::chrono::seconds(30));
  Status pre_start(const std::string& resource, const std::vector<std::string>& ids);

  // Handler of the plugin manager for "DevicePlugin" sockets in plugins_registry.
  Status validate(const std::string& resource, const std::vector<std::string>& versions) const;
  Status plugin_connected(const std::string& resource, const std::filesystem::path& socket);
  void plugin_disconnected(const std::string& resource, const std::filesystem::path& socket);

 private:
  class Registration;
  struct Client {
    std::string resource;
    std::filesystem::path socket;
    std::shared_ptr<grpc::Channel> channel;
    std::unique_ptr<api::device_plugin::DevicePlugin::Stub> stub;
    api::device_plugin::DevicePluginOptions options;
    grpc::ClientContext list;  // for ListAndWatch
    bool stopped = false;      // guarded by the manager's mutex
  };
  using ContainerKey = std::tuple<std::string, std::string, std::string>;  // pod, container, resource

  std::string key_of(const std::string& resource, const std::filesystem::path& socket) const;
  bool connect(const Client& client) const;
  grpc::Status handle_register(const api::device_plugin::RegisterRequest& request, grpc::ServerContext& context);
  void watch(std::shared_ptr<Client> client);
  void run_client(std::shared_ptr<Client> client);
  void disconnect(const std::string& key);
  std::shared_ptr<Client> client_of(const std::string& resource) const;
  std::vector<std::string> free_devices(const std::string& resource, const std::vector<std::string>& reusable) const;
  void write_checkpoint();
  void note(std::string event);

  const FakeDeviceManagerOptions options_;
  std::unique_ptr<Registration> registration_;
  std::unique_ptr<grpc::Server> server_;

  mutable std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  bool stopping_ = false;
  Conduct conduct_;
  std::map<std::string, std::shared_ptr<Client>> clients_;    // by key_of
  std::map<std::string, std::shared_ptr<Client>> endpoints_;  // by resource: the plugin that allocates
  std::vector<std::jthread> threads_;
  struct Sets {
    std::map<std::string, api::device_plugin::Device> all;
    std::set<std::string> healthy, unhealthy;
  };
  std::map<std::string, Sets> resources_;
  std::map<ContainerKey, Grant> holdings_;
  std::vector<std::string> history_;
  std::map<std::string, std::size_t> registrations_, lists_;
  std::size_t attempts_ = 0;
};

}  // namespace cardcage
