#include "host/kubelet/clients.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>

#include "host/rpc/grpc_library.h"

namespace cardcage {
namespace {

constexpr int kMaxReplyBytes = 16 * 1024 * 1024;  // the PodResources of a full node exceed 4 MiB
constexpr int kFirstBackoffMs = 100;
constexpr int kMaxBackoffMs = 2'000;  // a restarted kubelet is back within seconds

std::shared_ptr<grpc::Channel> channel_to(const std::filesystem::path& socket) {
  hold_grpc();
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMaxReplyBytes);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kFirstBackoffMs);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kMaxBackoffMs);
  // Without a local pool, channels to one address share connection and back-off, and a new set inherits the broken
  // connection.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  // With the probe, gRPC buffers megabytes of a stream that is faster than its reader.
  arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  return grpc::CreateCustomChannel("unix:" + socket.native(), grpc::InsecureChannelCredentials(), arguments);
}

}  // namespace

DriverClients::DriverClients(const Address& socket)
    : channel(channel_to(socket)),
      dra_v1(api::dra_v1::DRAPlugin::NewStub(channel)),
      dra_v1beta1(api::dra_v1beta1::DRAPlugin::NewStub(channel)),
      health_v1(api::health_v1::DRAResourceHealth::NewStub(channel)),
      health_v1alpha1(api::health_v1alpha1::DRAResourceHealth::NewStub(channel)),
      registration(api::registration::Registration::NewStub(channel)) {}

KubeletSockets KubeletSockets::below(const std::filesystem::path& kubelet_root,
                                     const std::filesystem::path& device_plugins_folder) {
  return {.device_plugins = device_plugins_folder / "kubelet.sock",
          .pod_resources = kubelet_root / "pod-resources/kubelet.sock",
          .pods = kubelet_root / "pods-api/pods-api.sock"};
}

KubeletClients::KubeletClients(const Address& sockets)
    : registration(api::device_plugin::Registration::NewStub(channel_to(sockets.device_plugins))),
      pod_resources(api::pod_resources::PodResourcesLister::NewStub(channel_to(sockets.pod_resources))),
      pods(api::pods::Pods::NewStub(channel_to(sockets.pods))) {}

}  // namespace cardcage
