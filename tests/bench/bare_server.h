// The least a C++ gRPC server can do: the same service and socket kind, an empty answer. What an empty RPC of the
// daemon is compared with. In a process of its own, like the daemon.
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
