// The paths of the sockets of drivers and resources.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "host/core/result.h"
#include "host/rpc/unix_socket.h"

namespace cardcage {

struct DriverSockets {
  std::filesystem::path registration;  // <root>/plugins_registry/<driver>[-<instance>]-reg.sock
  std::filesystem::path service;       // <root>/plugins/<driver>/dra[-<instance>].sock
  friend bool operator==(const DriverSockets&, const DriverSockets&) = default;
};

// `instance` (the pod's UID) tells apart two daemons that overlap during a rolling update; it may be empty. Names that
// do not fit into kMaxSocketPath are hashed in the tiers that the Go helper uses for registration sockets (k/k#139623).
// The service socket is treated alike; the Go helper leaves its path too long (k/k#142002). Both paths are below the
// root folder, as kubelets are going to demand (k/k#140837).
Result<DriverSockets> driver_sockets(const std::filesystem::path& kubelet_root, std::string_view driver,
                                     std::string_view instance);

// <root>/plugins_registry/cardcage-<resource, '/' as '_'>[-<instance>]-reg.sock; hashed like a driver's name.
Result<std::filesystem::path> resource_registry_socket(const std::filesystem::path& kubelet_root,
                                                       std::string_view resource, std::string_view instance);
// <device_plugins>/cardcage-<hash of the resource>-<nonce>.sock. A path must not be used twice: kubelets from 1.37 on
// tell registrations apart by it.
Result<std::filesystem::path> resource_socket(const std::filesystem::path& device_plugins, std::string_view resource,
                                              std::string_view nonce);

}  // namespace cardcage
