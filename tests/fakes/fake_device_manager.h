// A kubelet as device plugins see it: takes their registrations, reads their device lists, allocates for pods.
//
// The device manager of kubelet 1.36 in small (cm/devicemanager: manager.go, plugin/v1beta1/{server,handler,client}.go,
// pod_devices.go, checkpoint): Register is answered after the call back, one thread per ListAndWatch, sets of devices
// per resource that each message replaces, clients that are known by the name of the resource. All members may be
// called from any thread.
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
  bool clients_by_name = true;              // up to 1.36; by socket path from 1.37 on
  std::chrono::milliseconds disconnect{0};  // from the end of a stream to its handling
  std::chrono::milliseconds dial_limit{10'000};
};

class FakeDeviceManager {
 public:
  // Starts, unless told to wait for start().
  explicit FakeDeviceManager(FakeDeviceManagerOptions options, bool up = true);
  ~FakeDeviceManager();

  // As the process does: all sockets of the folder are removed, then kubelet.sock is made; a stop ends every connection
  // and leaves the files.
  void start();
  void stop();
  void restart() {
    stop();
    start();
  }

  // How Register is answered from now on; nothing of it: properly.
  struct Conduct {
    std::string refusal;   // an error with this text
    bool stall = false;    // not before the caller gives up
    bool hang_up = false;  // accepted, and the stream is closed after its first message
    bool deaf = false;     // accepted, and no stream is opened
  };
  void behave(Conduct conduct);

  // What happened, in order: "example.com/gpu <endpoint>" for a registration, "refused example.com/gpu",
  // "list example.com/gpu 8", "-example.com/gpu" for the end of a stream.
  std::vector<std::string> history() const;
  std::size_t registrations(const std::string& resource) const;  // accepted ones
  std::size_t lists(const std::string& resource) const;          // messages received
  std::size_t attempts() const;                                  // calls of Register
  bool wait_for(const std::function<bool()>& condition, std::chrono::milliseconds limit = std::chrono::seconds(5));

  // The node status. Nothing = the resource is unknown.
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
  // By id, as last listed.
  std::map<std::string, api::device_plugin::Device> devices(const std::string& resource) const;

  // Admission of one container: free healthy devices, those of `reusable` first, GetPreferredAllocation if the plugin
  // has it, Allocate; both without a deadline in the original. The answer is kept, and written to the checkpoint.
  struct Grant {
    std::vector<std::string> ids;
    api::device_plugin::ContainerAllocateResponse answer;
  };
  Result<Grant> admit(const std::string& pod, const std::string& container, const std::string& resource,
                      std::size_t count, const std::vector<std::string>& reusable = {});
  // The container is created, once more perhaps: PreStartContainer if the plugin wants it, and the kept answer.
  Result<Grant> start_container(const std::string& pod, const std::string& container, const std::string& resource);
  void remove_pod(const std::string& pod);

  // The calls by themselves.
  Result<std::vector<std::string>> preferred(const std::string& resource, const std::vector<std::string>& available,
                                             const std::vector<std::string>& required, int size);
  Result<Grant> allocate(const std::string& resource, const std::vector<std::string>& ids,
                         std::chrono::milliseconds limit = std::chrono::seconds(30));
  Status pre_start(const std::string& resource, const std::vector<std::string>& ids);

  // The handler of the plugin manager: "DevicePlugin" sockets of plugins_registry.
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
    grpc::ClientContext list;  // of ListAndWatch
    bool stopped = false;      // guarded by the manager's mutex
  };
  struct Holding {
    std::vector<std::string> ids;
    api::device_plugin::ContainerAllocateResponse answer;
  };
  using ContainerKey = std::tuple<std::string, std::string, std::string>;  // pod, container, resource

  std::string key_of(const std::string& resource, const std::filesystem::path& socket) const;
  bool dialled(const Client& client) const;
  grpc::Status take(const api::device_plugin::RegisterRequest& request, grpc::ServerContext& context);
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

  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  bool stopping_ = false;
  Conduct conduct_;
  std::map<std::string, std::shared_ptr<Client>> clients_;    // by key_of
  std::map<std::string, std::shared_ptr<Client>> endpoints_;  // by resource: who is asked to allocate
  std::vector<std::jthread> threads_;
  struct Sets {
    std::map<std::string, api::device_plugin::Device> all;
    std::set<std::string> healthy, unhealthy;
  };
  std::map<std::string, Sets> resources_;
  std::map<ContainerKey, Holding> holdings_;
  std::vector<std::string> history_;
  std::map<std::string, std::size_t> registrations_, lists_;
  std::size_t attempts_ = 0;
};

}  // namespace cardcage
