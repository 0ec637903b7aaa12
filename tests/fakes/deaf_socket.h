// A listening unix socket that accepts no connection and has a full queue: the socket of a stopped process.
#pragma once

#include <sys/socket.h>

#include <cerrno>
#include <filesystem>
#include <vector>

#include "host/rpc/unix_socket.h"

namespace cardcage {

class DeafSocket {
 public:
  explicit DeafSocket(const std::filesystem::path& path) {
    const auto address = unix_address(path);
    works_ = address && bind_unix(listener_, *address) == 0 && ::listen(listener_.get(), 0) == 0;
    while (works_) {
      UniqueFd waiting = new_unix_socket();
      if (connect_unix(waiting, *address) != 0) break;
      queue_.push_back(std::move(waiting));
    }
    works_ = works_ && errno == EAGAIN;
  }
  bool works() const { return works_; }
  // Accepts the oldest connection, so that the next attempt to connect finds room.
  UniqueFd accept() const { return UniqueFd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC)); }

 private:
  UniqueFd listener_ = new_unix_socket();
  std::vector<UniqueFd> queue_;
  bool works_ = false;
};

}  // namespace cardcage
