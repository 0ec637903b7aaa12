// The network namespace of a pod, which lasts while a process has it open.
#pragma once

#include <fcntl.h>
#include <linux/netlink.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <thread>

#include "host/core/unique_fd.h"
#include "host/model/pod_sandbox.h"

namespace cardcage {

class PodNamespace {
 public:
  PodNamespace() {
    std::thread([this] {
      if (::unshare(CLONE_NEWNET) != 0) return;
      namespace_ = std::make_shared<const UniqueFd>(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));
      socket_ = std::make_shared<const UniqueFd>(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
    }).join();
  }

  // False without the privilege.
  bool works() const { return namespace_ != nullptr; }
  SandboxedPod pod(const std::string& name = "pod") const {
    return {.uid = "uid-of-" + name,
            .name_space = "ns",
            .name = name,
            .network_namespace = namespace_,
            .route_socket = socket_,
            .network_namespace_path = works() ? path() : std::string()};
  }
  int descriptor() const { return namespace_->get(); }
  // For other processes of the node.
  std::string path() const { return "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(descriptor()); }
  // Closes the namespace. The daemon keeps it alive while it has it open.
  void end() {
    socket_.reset();
    namespace_.reset();
  }

  // Runs a shell command inside.
  bool run(const std::string& command) const {
    const UniqueFd open_in_children(::fcntl(descriptor(), F_DUPFD, 0));
    const std::string entered = "nsenter --net=/proc/self/fd/" + std::to_string(open_in_children.get());
    return std::system((entered + " sh -c \"" + command + "\"").c_str()) == 0;
  }
  // Runs a command of iproute2 inside.
  bool ip(const std::string& command) const { return run("ip " + command + " >&2"); }
  // Whether the output of an iproute2 command inside has the text.
  bool ip_says(const std::string& command, const std::string& text) const {
    return run("ip " + command + " | tee /dev/stderr | grep -qF -- '" + text + "'");
  }

 private:
  SharedFd namespace_, socket_;
};

}  // namespace cardcage
