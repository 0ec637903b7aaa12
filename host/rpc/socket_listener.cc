#include "host/rpc/socket_listener.h"

#include <sys/socket.h>
#include <sys/stat.h>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <cerrno>
#include <cstring>

#include "host/core/file.h"
#include "host/core/log.h"
#include "host/rpc/unix_socket.h"

namespace cardcage {
namespace {

namespace fs = std::filesystem;

constexpr int kBacklog = 128;
constexpr mode_t kSocketMode = 0600, kGroupMode = 0660;
constexpr std::chrono::milliseconds kAcceptPause{100};

fs::path hidden_name(const fs::path& path) { return path.parent_path() / ("." + path.filename().native()); }

// Returns " by process 42", or an empty text if the kernel does not know the process.
std::string served_by(const UniqueFd& fd) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(fd.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 || peer.pid <= 0) return "";
  return fmt::format(" by process {}", peer.pid);
}

// Removes a stale socket: one that refuses connections.
Status clear_path(const fs::path& path, const sockaddr_un& address) {
  struct stat about{};
  if (::lstat(path.c_str(), &about) != 0)
    return errno == ENOENT ? Status{} : fail_errno(errno, fmt::format("cannot stat '{}'", path.native()));
  if (!S_ISSOCK(about.st_mode))
    return fail(Code::kFailedPrecondition, "'{}' is in the way and is not a socket: remove it", path.native());
  const UniqueFd probe = new_unix_socket();
  if (!probe) return fail_errno(errno, "cannot make a socket");
  // EAGAIN means a full backlog: a process serves the socket, if slowly.
  const bool served = connect_unix(probe, address) == 0 || errno == EAGAIN;
  if (served)
    return fail(Code::kAlreadyExists, "'{}' is served{}: stop the other instance", path.native(), served_by(probe));
  if (errno != ECONNREFUSED && errno != ENOENT)
    return fail_errno(errno, fmt::format("cannot tell who serves '{}'", path.native()));
  if (::unlink(path.c_str()) != 0 && errno != ENOENT)
    return fail_errno(errno, fmt::format("cannot remove the stale socket '{}'", path.native()));
  return {};
}

Status give_to_group(const fs::path& path, gid_t group) {
  if (::lchown(path.c_str(), static_cast<uid_t>(-1), group) != 0 || ::chmod(path.c_str(), kGroupMode) != 0)
    return fail_errno(errno, fmt::format("cannot give the socket '{}' to group {}", path.native(), group));
  return {};
}

Result<UniqueFd> listening(const fs::path& path, SocketListener::Appearance appearance, SocketListener::Group group) {
  const auto address = unix_address(path);
  if (!address) return std::unexpected(address.error());
  if (auto cleared = clear_path(path, *address); !cleared) return std::unexpected(cleared.error());
  const bool hidden = appearance == SocketListener::Appearance::kListening;
  const fs::path first = hidden ? hidden_name(path) : path;
  const auto bound = unix_address(first);
  if (!bound) return std::unexpected(bound.error());
  if (hidden) ::unlink(first.c_str());
  UniqueFd fd = new_unix_socket();
  if (!fd) return fail_errno(errno, "cannot make a socket");
  // Linux takes the mode of the file from the unbound socket, so the file never has a wider one.
  if (::fchmod(fd.get(), kSocketMode) != 0 || bind_unix(fd, *bound) != 0)
    return fail_errno(errno, fmt::format("cannot create the socket '{}'", first.native()));
  if (const Status given = group ? give_to_group(first, *group) : Status(); !given) {
    ::unlink(first.c_str());
    return std::unexpected(given.error());
  }
  if (::listen(fd.get(), kBacklog) != 0) return fail_errno(errno, fmt::format("cannot listen on '{}'", first.native()));
  if (hidden && ::rename(first.c_str(), path.c_str()) != 0) {
    const int why = errno;
    ::unlink(first.c_str());
    return fail_errno(why, fmt::format("cannot create the socket '{}'", path.native()));
  }
  return fd;
}

}  // namespace

struct SocketListener::Gate {
  Gate(asio::io_context& core, UniqueFd fd, Accepted callback)
      : socket(core, fd.release()), accepted(std::move(callback)) {}
  asio::posix::stream_descriptor socket;
  Accepted accepted;
};

Result<std::unique_ptr<SocketListener>> SocketListener::open(asio::io_context& core, fs::path path, mode_t folder_mode,
                                                             Accepted accepted, Appearance appearance, Group group) {
  if (auto made = make_folder(path.parent_path(), folder_mode); !made) return std::unexpected(made.error());
  auto fd = listening(path, appearance, group);
  if (!fd) return std::unexpected(fd.error());
  auto gate = std::make_shared<Gate>(core, std::move(*fd), std::move(accepted));
  spawn(core, accept_loop(gate));
  return std::unique_ptr<SocketListener>(new SocketListener(std::move(path), std::move(gate)));
}

SocketListener::SocketListener(fs::path path, std::shared_ptr<Gate> gate)
    : path_(std::move(path)), gate_(std::move(gate)) {
  struct stat about{};
  if (::lstat(path_.c_str(), &about) != 0) return;
  device_ = about.st_dev;
  inode_ = about.st_ino;
}

SocketListener::~SocketListener() {
  if (present()) ::unlink(path_.c_str());
  boost::system::error_code ignored;
  gate_->socket.close(ignored);
}

bool SocketListener::present() const {
  struct stat about{};
  return ::lstat(path_.c_str(), &about) == 0 && about.st_dev == device_ && about.st_ino == inode_;
}

Error with_key(Error error, std::string_view key) {
  if (error.code == Code::kAlreadyExists) error.message += fmt::format(", or set {}", key);
  return error;
}

Task<void> SocketListener::accept_loop(std::shared_ptr<Gate> gate) {
  while (gate->socket.is_open()) {
    UniqueFd connection(::accept4(gate->socket.native_handle(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (connection) {
      gate->accepted(std::move(connection));
      continue;
    }
    boost::system::error_code ignored;
    if (errno == EAGAIN) {
      co_await gate->socket.async_wait(asio::posix::stream_descriptor::wait_read,
                                       asio::redirect_error(asio::use_awaitable, ignored));
      continue;
    }
    if (errno == ECONNABORTED || errno == EINTR) continue;
    // Out of descriptors or memory; the connection waits in the backlog.
    log_limited(LogLevel::kError, "accept",
                fmt::format("cannot accept a connection: {}", std::generic_category().message(errno)));
    asio::steady_timer pause(gate->socket.get_executor(), kAcceptPause);
    co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  }
}

}  // namespace cardcage
