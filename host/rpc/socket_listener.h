// A listening unix socket of the host: owned by path, handed out by connection.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>

#include "host/core/task.h"
#include "host/core/unique_fd.h"

namespace cardcage {

// [core] gRPC could listen by itself, but it takes over any path without asking, leaves the mode to the umask and
// cannot open a path again without building the server anew.
class SocketListener {
 public:
  using Accepted = std::function<void(UniqueFd connection)>;
  // How the path comes into being. Between bind(2) and listen(2) a socket looks like that of a dead process: where
  // others clear those away, and where kubelets dial what they see, it gets its name when it listens. The hidden name
  // before that has a dot, which counts for the length of the path.
  enum class Appearance : std::uint8_t { kBound, kListening };

  // Listens on `path` with mode 0600 and makes its folder with `folder_mode` if missing. A socket that a dead process
  // left there is replaced; one that somebody serves is kAlreadyExists and anything else is left alone, too.
  // `accepted` is called on the core with each connection, which is non-blocking and close-on-exec.
  static Result<std::unique_ptr<SocketListener>> open(asio::io_context& core, std::filesystem::path path,
                                                      mode_t folder_mode, Accepted accepted,
                                                      Appearance appearance = Appearance::kBound);
  // Stops listening and removes the path, unless it leads to another socket by now.
  ~SocketListener();
  SocketListener(const SocketListener&) = delete;
  SocketListener& operator=(const SocketListener&) = delete;

  const std::filesystem::path& path() const { return path_; }
  // Whether the path still leads here: kubelets and people wipe their folders.
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

}  // namespace cardcage
