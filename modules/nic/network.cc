#include "modules/nic/network.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <cerrno>
#include <exception>
#include <system_error>
#include <thread>

namespace cardcage::nic {

NodeNetwork::NodeNetwork() : descriptor_(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC)) {
  if (descriptor_ < 0) throw std::system_error(errno, std::generic_category(), "/proc/thread-self/ns/net");
}

NodeNetwork::~NodeNetwork() { ::close(descriptor_); }

void in_network(int network_namespace, const std::function<void()>& step) {
  std::exception_ptr failure;
  std::thread([&] {
    try {
      if (::setns(network_namespace, CLONE_NEWNET) != 0)
        throw std::system_error(errno, std::generic_category(), "the pod's network namespace cannot be entered");
      step();
    } catch (...) {
      failure = std::current_exception();
    }
  }).join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace cardcage::nic
