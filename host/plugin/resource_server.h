// Serves one device-plugin resource to the kubelet: its socket, registration, device list and allocations.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "host/config/config.h"
#include "host/kubelet/clients.h"
#include "host/kubelet/plugin_server.h"
#include "host/kubelet/registration.h"
#include "host/plugin/device_plugin_service.h"
#include "host/rpc/client_slot.h"

namespace cardcage {

struct ResourceServerOptions {
  std::string resource;
  std::filesystem::path kubelet_root, device_plugins_dir;
  std::string instance;  // may be empty; see resource_registry_socket
  RegistrationWay way = RegistrationWay::kAuto;
  PluginLimits limits;
};

// The state of a resource, for operators.
struct ResourceStatus {
  RegistrationWay way = RegistrationWay::kAuto;  // in use
  std::filesystem::path socket;                  // socket that the kubelet calls; empty = none now
  RegistrationView registration;                 // includes errors of the socket
  std::size_t streams = 0;                       // open streams of the device list
  std::size_t listed = 0, left_out = 0;          // devices in the list, and devices that did not fit in it
  std::size_t open_calls = 0;
};

// [core] Registers in one way at a time. A kubelet that starts again, wipes the folder or ends the device list has the
// resource back within a second; one that refuses is tried again with growing pauses.
//
// kAuto means kubelet.sock, unless its folder is missing and the registry is there: kubelets read the registry
// only once a second, and pods that come before the resource is known fail for good
// (docs/decisions/0004-kubelet-sock-first.md).
class ResourceServer final : public PluginServer {
 public:
  // Serves at once and registers as soon as there is a kubelet. `allocations`, `devices` and `clients`, which the
  // daemon's resources share, outlive the server. Errors are about names and paths only; trouble with folders and
  // kubelets is in status(), because it may pass.
  static Result<std::unique_ptr<ResourceServer>> start(asio::io_context& core, Clock& clock,
                                                       AllocationService& allocations, DeviceListBoard& devices,
                                                       ClientSlot<KubeletClients>& clients,
                                                       ResourceServerOptions options);

  // Makes the kubelet request the traits again.
  void reregister();
  void set_limits(const PluginLimits& limits) { plugin_.set_limits(limits); }
  // Sends the list once more, even if it is unchanged.
  void resend() { plugin_.lists().resend(); }
  ResourceStatus status() const;

 private:
  ResourceServer(asio::io_context& core, Clock& clock, AllocationService& allocations, DeviceListBoard& devices,
                 ClientSlot<KubeletClients>& clients, ResourceServerOptions options,
                 std::filesystem::path registry_socket);
  std::unique_ptr<Registration> make_way(ClientSlot<KubeletClients>& clients);
  Instant maintain() override;
  Task<void> run_streams() override { return plugin_.lists().run(); }
  // Up to Kubernetes 1.36 the late end of an old device list takes down a new registration, so the lists end first.
  Task<void> withdraw() override;
  Task<void> drain(Instant deadline) override { return plugin_.drain(deadline); }
  GrpcServer& grpc() override { return server_; }

  const ResourceServerOptions options_;
  const std::filesystem::path registry_socket_;
  DevicePluginService plugin_;
  GrpcServer server_;
  const std::unique_ptr<Registration> way_;
};

}  // namespace cardcage
