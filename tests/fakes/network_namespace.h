// A network namespace of the calling thread's own. Sockets that the thread opens, and processes that it starts, are
// inside.
#pragma once

#include <fcntl.h>
#include <sched.h>

#include <cstdlib>
#include <string>

#include "host/core/unique_fd.h"

namespace cardcage {

class NetworkNamespace {
 public:
  NetworkNamespace() : before_(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC)) {
    works_ = before_ && ::unshare(CLONE_NEWNET) == 0;
  }
  NetworkNamespace(const NetworkNamespace&) = delete;
  NetworkNamespace& operator=(const NetworkNamespace&) = delete;
  // Must run on the thread that made it.
  ~NetworkNamespace() {
    if (works_) ::setns(before_.get(), CLONE_NEWNET);
  }
  // False without the privilege.
  bool works() const { return works_; }

  // Runs iproute2, as in ip("link add a type veth peer name b"), so that a test does not share a mistake with its
  // subject.
  bool ip(const std::string& command) const { return std::system(("ip " + command + " >&2").c_str()) == 0; }

 private:
  const UniqueFd before_;
  bool works_ = false;
};

}  // namespace cardcage
