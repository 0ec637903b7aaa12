// Client sets: all stubs for one peer, made and replaced together.
//
// Clients that are made one by one on first use fail in four ways: two threads make the same client twice, a health
// client stays on the old connection after a reconnect, a client is called before it is set, and connections pile up
// over many reconnects. A set is therefore immutable and complete from the start, and a ClientSlot swaps whole sets.
#pragma once

#include <grpcpp/channel.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "host/kubelet/protocol.h"

namespace cardcage {

// The services that a kubelet calls on one socket of a driver. Calls on a socket without a server fail with
// UNAVAILABLE.
struct DriverClients {
  using Address = std::filesystem::path;
  explicit DriverClients(const Address& socket);

  const std::shared_ptr<grpc::Channel> channel;
  const std::unique_ptr<api::dra_v1::DRAPlugin::Stub> dra_v1;
  const std::unique_ptr<api::dra_v1beta1::DRAPlugin::Stub> dra_v1beta1;
  const std::unique_ptr<api::health_v1::DRAResourceHealth::Stub> health_v1;
  const std::unique_ptr<api::health_v1alpha1::DRAResourceHealth::Stub> health_v1alpha1;
  const std::unique_ptr<api::registration::Registration::Stub> registration;
};

struct KubeletSockets {
  std::filesystem::path device_plugins;  // does not follow the kubelet's --root-dir
  std::filesystem::path pod_resources;
  std::filesystem::path pods;  // missing before Kubernetes 1.36 and where the gate PodsAPI is off

  static KubeletSockets below(const std::filesystem::path& kubelet_root,
                              const std::filesystem::path& device_plugins_folder = "/var/lib/kubelet/device-plugins");
};

// The services of the kubelet itself: one channel per socket, connected by the first call.
struct KubeletClients {
  using Address = KubeletSockets;
  explicit KubeletClients(const Address& sockets);

  const std::unique_ptr<api::device_plugin::Registration::Stub> registration;
  const std::unique_ptr<api::pod_resources::PodResourcesLister::Stub> pod_resources;
  const std::unique_ptr<api::pods::Pods::Stub> pods;
};

}  // namespace cardcage
