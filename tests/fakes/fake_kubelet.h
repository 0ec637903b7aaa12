// A kubelet as seen by DRA drivers: finds their sockets, registers them, prepares claims, watches health. It passes
// device plugins to its device manager.
//
// Models the plugin manager of kubelet 1.36 (pkg/kubelet/pluginmanager: pluginwatcher, reconciler, operation_generator;
// cm/dra/plugin: dra_plugin_manager): desired state from inotify, one reconcile pass per period, back-off per socket,
// GetInfo within 1 s and NotifyRegistrationStatus within 5 s, health streams that are reopened, health that ages.
// tests/cluster runs the daemon under real kubelets. All members may be called from any thread.
#pragma once

#include <condition_variable>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "host/kubelet/clients.h"
#include "host/model/device.h"
#include "tests/fakes/fake_device_manager.h"
#include "tests/fakes/kubelet_calls.h"

namespace cardcage {

struct FakeKubeletOptions {
  std::filesystem::path root;
  std::chrono::milliseconds reconcile{20};      // 1 s in the original
  std::chrono::milliseconds first_backoff{50};  // 500 ms in the original
  std::chrono::milliseconds health_reopen{50};  // 5 s in the original
  std::vector<std::string> versions{"v1.DRAPlugin", "v1beta1.DRAPlugin"};
  bool watch_health = true;
  FakeDeviceManager* devices = nullptr;  // none: no handler for device plugins
};

class FakeKubelet {
 public:
  using Prepared = PrepareAnswers;
  using Unprepared = UnprepareAnswers;

  explicit FakeKubelet(FakeKubeletOptions options);
  ~FakeKubelet();

  // Forgets everything and reads the folder again, as a restarted kubelet does.
  void restart();
  // Refuses registrations with this text from now on; empty accepts them again.
  void refuse(std::string error);
  // Connects to drivers that register from now on only after this time. The original registers before it is connected.
  void delay_connections(std::chrono::milliseconds delay);

  // Registrations in order: "gpu.example.com v1.DRAPlugin", "refused gpu.example.com", "-gpu.example.com" for the end.
  std::vector<std::string> history() const;
  bool registered(const std::string& driver) const;
  bool wait_for(const std::function<bool()>& condition, std::chrono::milliseconds limit = std::chrono::seconds(30));
  bool wait_registered(const std::string& driver) {
    return wait_for([&] { return registered(driver); });
  }

  // One RPC in the negotiated version, with the kubelet's checks of the response. The error is the RPC's.
  Result<Prepared> prepare(const std::string& driver, const std::vector<ClaimRef>& claims,
                           std::chrono::milliseconds limit = std::chrono::seconds(45));
  Result<Unprepared> unprepare(const std::string& driver, const std::vector<ClaimRef>& claims,
                               std::chrono::milliseconds limit = std::chrono::seconds(45));

  // The health in the pod's status; kUnknown if no report is known or the last one is too old.
  struct ShownHealth {
    HealthState state = HealthState::kUnknown;
    std::string message;
    friend bool operator==(const ShownHealth&, const ShownHealth&) = default;
  };
  ShownHealth health(const std::string& driver, const std::string& pool, const std::string& device) const;
  // Health messages received from the driver so far.
  std::size_t health_messages(const std::string& driver) const;
  // Ages all health reports.
  void advance(Duration age);

 private:
  struct Plugin;
  struct Socket {
    std::uint64_t identity = 0;    // new for every Create event: the UUID of the original
    std::uint64_t registered = 0;  // the registered identity, 0 = none
    Instant next_try{};
    std::chrono::milliseconds backoff{0};
    std::shared_ptr<Plugin> plugin;
  };

  void start();
  void stop();
  void watch(std::stop_token stop, int inotify);
  void read_events(int inotify);
  void add_desired(const std::filesystem::path& path);
  void reconcile();
  Status register_plugin(const std::filesystem::path& path, Socket& socket);
  Result<std::shared_ptr<Plugin>> validate(const api::registration::PluginInfo& info,
                                           const std::filesystem::path& path) const;
  Result<std::shared_ptr<Plugin>> connect_device_plugin(const api::registration::PluginInfo& info,
                                                        const std::filesystem::path& path) const;
  void unregister(Socket& socket);
  void watch_health(std::stop_token stop, std::shared_ptr<Plugin> plugin);
  std::shared_ptr<Plugin> plugin_of(const std::string& driver) const;
  void note(std::string event);

  const FakeKubeletOptions options_;
  std::map<std::filesystem::path, Socket> sockets_;  // belongs to the watcher thread
  std::uint64_t next_identity_ = 1;

  mutable std::mutex mutex_;  // guards the members below
  std::condition_variable_any changed_;
  std::vector<std::shared_ptr<Plugin>> plugins_;  // in order of registration
  std::vector<std::string> history_;
  std::string refusal_;
  std::chrono::milliseconds connection_delay_{0};
  Duration age_{0};
  std::jthread watcher_;
};

}  // namespace cardcage
