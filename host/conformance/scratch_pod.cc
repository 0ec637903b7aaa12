#include "host/conformance/scratch_pod.h"

#include <fcntl.h>
#include <sched.h>

#include <cerrno>
#include <thread>

#include "host/access/pod_network.h"

namespace cardcage {
namespace {

// The thread takes its network with it, except for the descriptor.
UniqueFd new_network_namespace(int& error) {
  UniqueFd made;
  std::thread([&] {
    if (::unshare(CLONE_NEWNET) == 0) made = UniqueFd(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));
    error = errno;
  }).join();
  return made;
}

}  // namespace

Result<SandboxedPod> scratch_pod(std::string name) {
  int error = 0;
  UniqueFd made = new_network_namespace(error);
  if (!made) return fail_errno(error, "cannot make the network namespace of a pod, which root can");
  auto network = open_pod_network(std::move(made));
  if (!network) return std::unexpected(network.error());
  return SandboxedPod{.uid = "cacecace-0000-4000-9000-" + name,
                      .name_space = "default",
                      .name = std::move(name),
                      .network_namespace = network->network_namespace,
                      .route_socket = network->route_socket};
}

}  // namespace cardcage
