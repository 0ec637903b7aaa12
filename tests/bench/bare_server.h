// A minimal C++ gRPC server, the baseline for an empty RPC of the daemon: the same service and kind of socket, an empty
// response, and its own process, like the daemon.
#pragma once

#include <sys/types.h>

#include <string>

namespace cardcage::bench {

// Serves on `socket` until killed.
int serve_bare(const std::string& socket);

class BareServer {
 public:
  explicit BareServer(std::string socket);
  BareServer(const BareServer&) = delete;
  BareServer& operator=(const BareServer&) = delete;
  ~BareServer();
  const std::string& socket() const { return socket_; }

 private:
  std::string socket_;
  pid_t pid_ = -1;
};

}  // namespace cardcage::bench
