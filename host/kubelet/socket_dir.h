// Where the sockets of drivers and resources lie.
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

// `instance` tells two hosts apart that overlap during a rolling update (the pod's UID); it may be empty. Names that
// would not fit into kMaxSocketPath are hashed in the same tiers as the Go helper uses for registration sockets
// (k/k#139623); the service socket, which the Go helper leaves too long (k/k#142002), gets the same care. Both lie
// below the root folder, as the kubelet is going to demand (k/k#140837).
Result<DriverSockets> driver_sockets(const std::filesystem::path& kubelet_root, std::string_view driver,
                                     std::string_view instance);

// <root>/plugins_registry/cardcage-<resource, '/' as '_'>[-<instance>]-reg.sock; hashed like a driver's.
Result<std::filesystem::path> resource_registry_socket(const std::filesystem::path& kubelet_root,
                                                       std::string_view resource, std::string_view instance);
// <device_plugins>/cardcage-<hash of the resource>-<nonce>.sock. A path must not serve twice: kubelets from 1.37 on
// tell registrations apart by it.
Result<std::filesystem::path> resource_socket(const std::filesystem::path& device_plugins, std::string_view resource,
                                              std::string_view nonce);

}  // namespace cardcage
