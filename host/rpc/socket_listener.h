// A listening unix socket: owns the path and passes on its connections.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "host/core/task.h"
#include "host/core/unique_fd.h"

namespace cardcage {

// [core] gRPC could listen by itself, but it replaces any file at the path, leaves the mode to the umask, and cannot
// open the path again without a new server.
class SocketListener {
 public:
  using Accepted = std::function<void(UniqueFd connection)>;
  // The time at which the path appears. Between bind(2) and listen(2) a socket looks like that of a dead process. Use
  // kListening where others remove such sockets, or where the kubelet dials a socket as soon as it appears: until it
  // listens, it has a hidden name with a dot in front, which counts for the length of the path.
  enum class Appearance : std::uint8_t { kBound, kListening };
  // Who may connect besides the owner: with a group, the socket belongs to it and has mode 0660.
  using Group = std::optional<gid_t>;

  // Listens on `path` with mode 0600 or that of the group, and creates its folder with `folder_mode` if it is missing.
  // Replaces the socket of a dead process. Fails with kAlreadyExists for a socket that is served and with
  // kFailedPrecondition for any other file, and leaves both in place. `accepted` is called on the core with each
  // connection, which is non-blocking and close-on-exec.
  static Result<std::unique_ptr<SocketListener>> open(asio::io_context& core, std::filesystem::path path,
                                                      mode_t folder_mode, Accepted accepted,
                                                      Appearance appearance = Appearance::kBound,
                                                      Group group = std::nullopt);
  // Stops listening and removes the path, unless another socket has replaced it.
  ~SocketListener();
  SocketListener(const SocketListener&) = delete;
  SocketListener& operator=(const SocketListener&) = delete;

  const std::filesystem::path& path() const { return path_; }
  // Returns whether the path is still this socket: kubelets and operators wipe folders.
  bool present() const;

 private:
  struct Gate;
  SocketListener(std::filesystem::path path, std::shared_ptr<Gate> gate);
  static Task<void> accept_loop(std::shared_ptr<Gate> gate);

  const std::filesystem::path path_;
  const std::shared_ptr<Gate> gate_;
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

// Appends to a kAlreadyExists error the key of [node] that gives the socket another path.
Error with_key(Error error, std::string_view key);

}  // namespace cardcage
