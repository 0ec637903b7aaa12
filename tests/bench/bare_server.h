// A minimal C++ gRPC server, the baseline for an RPC of the daemon: the same service and kind of socket, and its own
// process, like the daemon. It responds to an empty request at once, and to one with claims after it has read them.
#pragma once

#include <sys/types.h>

#include <string>

namespace cardcage::bench {

// Serves on `socket` until killed. Reads claims with the kubeconfig; without one, responds with nothing.
int serve_bare(const std::string& socket, const std::string& kubeconfig = "");

class BareServer {
 public:
  explicit BareServer(std::string socket, std::string kubeconfig = "");
  BareServer(const BareServer&) = delete;
  BareServer& operator=(const BareServer&) = delete;
  ~BareServer();
  const std::string& socket() const { return socket_; }

 private:
  std::string socket_;
  pid_t pid_ = -1;
};

}  // namespace cardcage::bench
