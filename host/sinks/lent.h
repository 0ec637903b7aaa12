// Lends texts of the host, and a pod, to a module.
#pragma once

#include <string>

#include "cardcage/module.h"
#include "host/model/pod_sandbox.h"

namespace cardcage {

// Valid as long as `text` is; ends in NUL.
inline cage_str lent(const std::string& text) { return {text.c_str(), text.size()}; }

// Valid as long as `pod` is.
inline cage_pod lent(const SandboxedPod& pod) {
  return {.struct_size = sizeof(cage_pod),
          .network_namespace = pod.network_namespace->get(),
          .route_socket = pod.route_socket->get(),
          .reserved = 0,
          .uid = lent(pod.uid),
          .name_space = lent(pod.name_space),
          .name = lent(pod.name),
          .network_namespace_path = lent(pod.network_namespace_path)};
}

}  // namespace cardcage
