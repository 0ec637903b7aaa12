#include "host/access/pod_network.h"

#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/nsfs.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cerrno>
#include <thread>

namespace cardcage {
namespace {

// A socket belongs to the network namespace of the thread that makes it.
UniqueFd route_socket_in(int network_namespace, int& error) {
  UniqueFd made;
  std::thread([&] {
    if (::setns(network_namespace, CLONE_NEWNET) == 0)
      made = UniqueFd(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
    error = errno;
  }).join();
  return made;
}

}  // namespace

Result<PodNetwork> open_pod_network(UniqueFd network_namespace) {
  struct stat its{}, ours{};
  if (::fstat(network_namespace.get(), &its) != 0 || ::stat("/proc/self/ns/net", &ours) != 0)
    return fail_errno(errno, "cannot look at the pod's network namespace");
  if (::ioctl(network_namespace.get(), NS_GET_NSTYPE) != CLONE_NEWNET)
    return fail(Code::kInvalidArgument, "the path from the container runtime is not a network namespace");
  if (its.st_ino == ours.st_ino && its.st_dev == ours.st_dev)
    return fail(Code::kFailedPrecondition,
                "the pod has the network of the node, and no device can be moved there: leave hostNetwork out of the "
                "pod's spec, or the claim");
  int error = 0;
  UniqueFd socket = route_socket_in(network_namespace.get(), error);
  if (!socket) return fail_errno(error, "cannot enter the pod's network namespace; the daemon needs CAP_SYS_ADMIN");
  return PodNetwork{.network_namespace = std::make_shared<const UniqueFd>(std::move(network_namespace)),
                    .route_socket = std::make_shared<const UniqueFd>(std::move(socket)),
                    .number = its.st_ino};
}

Result<PodNetwork> open_pod_network(const std::filesystem::path& network_namespace) {
  UniqueFd file(::open(network_namespace.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file)
    return fail_errno(errno, fmt::format("cannot open the pod's network namespace {}", network_namespace.native()));
  return open_pod_network(std::move(file));
}

}  // namespace cardcage
