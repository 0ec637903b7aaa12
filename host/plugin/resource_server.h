// Everything the kubelet sees of one device-plugin resource: its socket, registration, device list and allocations.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "host/config/config.h"
#include "host/core/folder_watch.h"
#include "host/kubelet/clients.h"
#include "host/kubelet/registration.h"
#include "host/plugin/device_plugin_service.h"
#include "host/rpc/client_slot.h"
#include "host/rpc/grpc_server.h"

namespace cardcage {

struct ResourceServerOptions {
  std::string resource;
  std::filesystem::path kubelet_root, device_plugins_dir;
  std::string instance;  // may be empty; see resource_registry_socket
  RegistrationWay way = RegistrationWay::kAuto;
  PluginLimits limits;
};

// What operators see of a resource.
struct ResourceStatus {
  std::string resource;
  RegistrationWay way = RegistrationWay::kAuto;  // in use
  std::filesystem::path socket;                  // where the kubelet calls; empty = none now
  RegistrationView registration;                 // the error is also about the socket
  std::size_t streams = 0;                       // of the device list
  std::size_t listed = 0, left_out = 0;          // devices that the kubelet is told of; for which there is no room
  std::size_t open_calls = 0;
};

// [core] Looks after its socket and its registration by one way at a time: a kubelet that starts again, wipes the
// folder or lets go of the device list has the resource back within a second, one that refuses is asked again with
// growing pauses.
//
// kAuto is kubelet.sock, unless its folder is missing where the registry is not: kubelets look into the registry once a
// second only, and pods that come before the resource is known fail for good (docs/decisions).
class ResourceServer {
 public:
  // Serves at once and registers as soon as there is a kubelet. `allocations`, `devices` and `clients`, which the
  // daemon's resources share, outlive the server. Errors are about names and paths: what is wrong with folders and
  // kubelets is in status(), because it may change.
  static Result<std::unique_ptr<ResourceServer>> start(asio::io_context& core, Clock& clock,
                                                       AllocationService& allocations, DeviceListBoard& devices,
                                                       ClientSlot<KubeletClients>& clients,
                                                       ResourceServerOptions options);
  // Must have been stopped.
  ~ResourceServer();
  ResourceServer(const ResourceServer&) = delete;
  ResourceServer& operator=(const ResourceServer&) = delete;

  // The kubelet is to ask for the traits again.
  void reregister();
  void set_limits(const PluginLimits& limits) { plugin_.set_limits(limits); }
  // The kubelet is to get its list once more though nothing has changed.
  void resend() { plugin_.lists().resend(); }
  // Ends the device lists and takes the socket away, so that the kubelet lets go of this instance before another one
  // registers: up to 1.36 the late end of an old one takes down the new one. Then lets the open calls end, ends the
  // rest before `deadline` and returns when nothing is left.
  Task<void> stop(Instant deadline);
  ResourceStatus status() const;

 private:
  ResourceServer(asio::io_context& core, Clock& clock, AllocationService& allocations, DeviceListBoard& devices,
                 ClientSlot<KubeletClients>& clients, ResourceServerOptions options,
                 std::filesystem::path registry_socket);
  Registration::Host host();
  std::unique_ptr<Registration> make_way();
  Task<void> keep_registered();
  Task<void> run();

  asio::io_context& core_;
  Clock& clock_;
  ClientSlot<KubeletClients>& clients_;
  const ResourceServerOptions options_;
  const std::filesystem::path registry_socket_;
  Wakeup wake_;
  DevicePluginService plugin_;
  PluginRegistration registration_;
  GrpcServer server_;
  FolderWatch watch_;
  const std::unique_ptr<Registration> way_;
  OneShot<bool> ended_;
  bool stopping_ = false, stopped_ = false;
};

}  // namespace cardcage
